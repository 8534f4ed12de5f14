#include "data/trial_read.hpp"

#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <vector>

#include "catch.hpp"
#include "core/errors.hpp"
#include "sanitized.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

TEST_CASE("a file on which its reader crashes is damaged, and the process lives on", "[data]") {
  CHECK_THROWS_WITH(try_reading("x.h5", [] { std::raise(SIGSEGV); }),
                    contains_text("'x.h5' is damaged: HDF5 ") && contains_text(" crashes while reading it"));
  CHECK_THROWS_AS(try_reading("x.h5", [] { std::abort(); }), core::ConfigError);
}

TEST_CASE("a file whose reading does not come to an end is damaged", "[data]") {
  const auto endless = [] {
    for (volatile bool more = true; more;) {
    }
  };
  CHECK_THROWS_WITH(try_reading("x.h5", endless, {.processor_s = 1}), contains_text("does not terminate while reading it"));
}

TEST_CASE("a file whose reader waits forever, as for a pipe that nobody fills, is refused", "[data]") {
  const auto waiting = [] {
    for (;;) ::pause();
  };
  CHECK_THROWS_WITH(try_reading("x.h5", waiting, {.wall_s = 1}),
                    contains_text("cannot read 'x.h5'") && contains_text("1 s"));
}

TEST_CASE("a trial read changes nothing in this process, and leaves exceptions to the reading itself", "[data]") {
  int times = 0;
  CHECK_NOTHROW(try_reading("x.h5", [&] {
    ++times;
    throw std::runtime_error("no such array");
  }));
  CHECK(times == 0);
}

TEST_CASE("a trial read tells why it refuses a file, so that it need not be read a second time", "[data]") {
  CHECK_THROWS_WITH(try_reading("x.h5", [] { throw core::ConfigError("no such array"); }), contains_text("no such array"));
}

TEST_CASE("a trial read may take no more memory than a file of its size can hold", "[data]") {
  if (sanitized) return;  // a sanitizer has an address space of its own
  const TemporaryFolder folder;
  write_text(folder.file("x.h5"), "short");
  const auto greedy = [](std::size_t bytes) { return [bytes] { std::vector<char>(bytes).back() = 1; }; };
  CHECK_NOTHROW(try_reading(folder.file("x.h5"), greedy(std::size_t{16} << 20)));
  CHECK_THROWS_WITH(try_reading(folder.file("x.h5"), greedy(std::size_t{1} << 30)), contains_text("more memory"));
}

TEST_CASE("files of this program have checksums of all metadata; others may have none", "[data]") {
  const TemporaryFolder folder;
  samples_file(folder.file("mine.h5"));
  CHECK(has_checksums(folder.file("mine.h5")));
  CHECK(!has_checksums(PARAGRAD_SOURCE "/tests/data/foreign.h5"));  // by h5py
  write_text(folder.file("text"), "\x89HDF");
  CHECK(!has_checksums(folder.file("text")));
  CHECK(!has_checksums(folder.file("none.h5")));
}
