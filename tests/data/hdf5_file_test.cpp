#include "data/hdf5_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "catch.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

template <class T>
void check_round_trip(const std::string& path, const std::vector<T>& values) {
  auto file = Hdf5File::create(path);
  file.write("/a/b/one", std::span<const T>(values));
  file.write("/a/b/two", std::span<const T>(values), {2, values.size() / 2});
  file.write("/none", std::span<const T>());
  file.finish();

  const auto reopened = Hdf5File::open(path);
  CHECK(reopened.read<T>("/a/b/one") == values);
  CHECK(reopened.read<T>("/a/b/two") == values);
  CHECK(reopened.read<T>("/none").empty());
  CHECK(reopened.array_info("/a/b/two").shape == std::vector<std::size_t>{2, values.size() / 2});
  CHECK(reopened.array_info("/a/b/two").type == element_type_of<T>());
}

/// A bool, so that a failure does not print the file.
bool same_bytes(const std::string& path, const std::string& bytes) { return read_text(path) == bytes; }

void write_numbers(const std::string& path, std::size_t count) {
  auto file = Hdf5File::create(path);
  file.create_group("/some/group");
  file.write("/numbers", std::span<const float>(std::vector<float>(count, 1.5f)));
  file.finish();
}

}  // namespace

TEST_CASE("arrays of every type come back as they were written", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  check_round_trip<float>(path, {-1.5f, 0, 1e-30f, 3e38f});
  check_round_trip<std::uint8_t>(path, {0, 1, 254, 255});
  check_round_trip<std::int32_t>(path, {-2147483647, 0, 1, 2147483647});
  check_round_trip<std::uint32_t>(path, {0, 1, 2, 4294967295u});
  check_round_trip<std::int64_t>(path, {-(1ll << 62), 0, 1, 1ll << 62});
  check_round_trip<std::uint64_t>(path, {0, 1, 2, ~0ull});
  check_round_trip<double>(path, {-1.5, 0, 1e-300, 1.7e308});
}

TEST_CASE("an array is filled and read in pieces, and can be mapped where it says", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  auto file = Hdf5File::create(path);
  file.create_array("/x", ElementType::int32, {5, 2});
  for (std::int32_t row = 0; row < 5; ++row) {
    const std::int32_t values[] = {row, -row};
    file.write_rows("/x", static_cast<std::size_t>(row), std::span<const std::int32_t>(values));
  }
  file.finish();

  const auto reopened = Hdf5File::open(path);
  std::vector<std::int32_t> middle(4);
  reopened.read_rows("/x", 2, std::span<std::int32_t>(middle));
  CHECK(middle == std::vector<std::int32_t>{2, -2, 3, -3});

  std::int32_t last = 0;
  const auto at = reopened.array_info("/x").file_offset.value() + 9 * sizeof(last);
  REQUIRE(::pread(reopened.descriptor(), &last, sizeof(last), static_cast<off_t>(at)) == sizeof(last));
  CHECK(last == -4);
}

TEST_CASE("attributes come back as they were set last", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  auto file = Hdf5File::create(path);
  file.create_group("/a/b");
  file.set_text("/", "name", "first");
  file.set_text("/", "name", "Grüße, world");
  file.set_text("/", "empty", "");
  file.set_texts("/", "list", {"one", "", "three"});
  file.set_texts("/", "no list", {});
  file.set_texts("/", "long list", std::vector<std::string>(5000, std::string(80, 'x')));
  file.set_number("/a/b", "loss", 0.1);
  file.set_count("/a/b", "seed", ~std::uint64_t{0});
  file.finish();

  const auto reopened = Hdf5File::open(path);
  CHECK(reopened.text("/", "name") == "Grüße, world");
  CHECK(reopened.text("/", "empty").empty());
  CHECK(reopened.texts("/", "list") == std::vector<std::string>{"one", "", "three"});
  CHECK(reopened.texts("/", "no list").empty());
  CHECK(reopened.texts("/", "long list") == std::vector<std::string>(5000, std::string(80, 'x')));
  CHECK(reopened.number("/a/b", "loss") == 0.1);
  CHECK(reopened.count("/a/b", "seed") == ~std::uint64_t{0});
  CHECK(reopened.number("/a/b", "seed") == Approx(18446744073709551615.0));
  CHECK(reopened.has_attribute("/a/b", "seed"));
  CHECK_FALSE(reopened.has_attribute("/a/b", "speed"));
  CHECK_THROWS_WITH(reopened.count("/a/b", "loss"), contains_text("'/a/b/loss'") && contains_text("not a whole number"));
  CHECK_THROWS_WITH(reopened.text("/a/b", "loss"), contains_text("is not text"));
  CHECK_THROWS_WITH(reopened.number("/", "name"), contains_text("not a number"));
  CHECK_THROWS_WITH(reopened.text("/", "list"), contains_text("not a single string"));
  CHECK_THROWS_AS(reopened.text("/", "no such"), core::ConfigError);
}

TEST_CASE("objects are found and listed by name", "[data]") {
  const TemporaryFolder folder;
  auto file = Hdf5File::create(folder.file("x.h5"));
  for (const char* group : {"/g/c", "/g/a", "/g/b"}) file.create_group(group);
  CHECK(file.children("/g") == std::vector<std::string>{"a", "b", "c"});
  CHECK(file.children("/g/a").empty());
  CHECK(file.exists("/"));
  CHECK(file.exists("/g/a"));
  CHECK_FALSE(file.exists("/g/d"));
  CHECK_FALSE(file.exists("/h/a/b"));
  CHECK_THROWS_AS(file.create_group("/g/a"), core::ConfigError);
}

TEST_CASE("errors name file, object and reason", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  write_numbers(path, 10);
  const auto file = Hdf5File::open(path);
  CHECK_THROWS_WITH(file.read<std::int32_t>("/numbers"), "'/numbers' in '" + path + "' has type float32, not int32");
  CHECK_THROWS_WITH(file.read<float>("/other"), contains_text("cannot read '/other' in '" + path + "': "));
  std::vector<float> many(11);
  CHECK_THROWS_WITH(file.read_rows("/numbers", 0, std::span<float>(many)), contains_text("has shape 10"));
  CHECK_THROWS_WITH(Hdf5File::open(folder.file("none")), contains_text("No such file or directory"));
  CHECK_THROWS_WITH(Hdf5File::open(folder.file("")), contains_text("it is a folder"));
  write_text(folder.file("text"), "These are the words of a text, which is not HDF5.");
  CHECK_THROWS_WITH(Hdf5File::open(folder.file("text")), contains_text("it is not an HDF5 file"));
  CHECK_THROWS_WITH(Hdf5File::create(folder.file("no/folder")), contains_text("No such file or directory"));
  CHECK_THROWS_AS(Hdf5File::open(path).finish(), std::logic_error);
}

TEST_CASE("HDF5 itself prints nothing", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  write_numbers(path, 10);
  std::filesystem::resize_file(path, 100);
  const int old_stderr = ::dup(2);
  const int capture = ::open(folder.file("stderr").c_str(), O_CREAT | O_WRONLY, 0600);
  ::dup2(capture, 2);
  CHECK_THROWS_WITH(Hdf5File::open(path), contains_text("truncated"));
  ::dup2(old_stderr, 2);
  ::close(capture);
  ::close(old_stderr);
  CHECK(read_text(folder.file("stderr")).empty());
}

TEST_CASE("an interrupted write leaves the old file as it was, and nothing beside it", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  write_numbers(path, 10);
  const auto before = read_text(path);
  const bool anew = GENERATE(true, false);
  try {
    auto file = anew ? Hdf5File::create(path) : Hdf5File::revise(path);
    file.write("/more", std::span<const float>(std::vector<float>(100000, 2.f)));
    CHECK(same_bytes(path, before));
    CHECK(folder.entries() == 2);
    throw std::runtime_error("interrupted");
  } catch (const std::runtime_error&) {
  }
  CHECK(same_bytes(path, before));
  CHECK(folder.entries() == 1);
}

TEST_CASE("a full disk is reported in one sentence and leaves the old file as it was", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  write_numbers(path, 10);
  const auto before = read_text(path);
  const std::size_t numbers = GENERATE(std::size_t{1} << 20, 4000);  // fails while writing, fails while closing
  const auto child = ::fork();
  if (child == 0) {
    // A limit on the size of files acts as a disk that is full.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_numbers(path, numbers);
    } catch (const core::ConfigError& error) {
      ::_exit(std::string(error.what()).find("File too large") != std::string::npos ? 3 : 4);
    }
    ::_exit(5);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(same_bytes(path, before));
  CHECK(folder.entries() == 1);
}

TEST_CASE("after a full disk the process goes on and ends as usual", "[data]") {
  const TemporaryFolder folder;
  const auto child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit small{8192, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    try {
      write_numbers(folder.file("x.h5"), 4000);
    } catch (const core::ConfigError&) {
      ::setrlimit(RLIMIT_FSIZE, &limit);
      write_numbers(folder.file("x.h5"), 4000);
      ::_exit(Hdf5File::open(folder.file("x.h5")).read<float>("/numbers") == std::vector<float>(4000, 1.5f) ? 3 : 4);
    }
    ::_exit(5);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
}

TEST_CASE("a disk that fails once: the array that it lost is an error, and the file before stays", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  write_numbers(path, 10);
  const auto before = read_text(path);
  {
    auto file = Hdf5File::create(path);
    file.create_array("/numbers", ElementType::float32, {1000});  // small: HDF5 writes it when the array is closed
    const std::vector<float> numbers(1000, 2.5f);
    const auto usual = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit small{100, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    CHECK_THROWS_WITH(file.write_rows("/numbers", 0, std::span<const float>(numbers)), contains_text("File too large"));
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, usual);
  }
  CHECK(same_bytes(path, before));
  CHECK(folder.entries() == 1);
}

TEST_CASE("a file whose bytes are not those that were written does not take its name", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  write_numbers(path, 10);
  const auto before = read_text(path);
  const std::size_t elements = GENERATE(100, 100000);
  const auto damage = [&](std::uint64_t offset) {
    std::fstream file(path + ".tmp", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset)).put('?');
  };
  SECTION("in the first or the last byte of an array") {
    auto file = Hdf5File::create(path);
    file.create_array("/numbers", ElementType::float32, {elements});
    const std::vector<float> half(elements / 2, 2.5f);
    file.write_rows("/numbers", 0, std::span<const float>(half));
    file.write_rows("/numbers", elements / 2, std::span<const float>(half));
    const auto begin = file.array_info("/numbers").file_offset.value();
    damage(begin + GENERATE(0, 1) * (elements * sizeof(float) - 1));
    CHECK_THROWS_WITH(file.finish(), contains_text("/numbers") && contains_text("what was written"));
  }
  SECTION("in what was added to it") {
    auto file = Hdf5File::revise(path);
    file.write("/more", std::span<const float>(std::vector<float>(elements, 2.5f)));
    damage(file.array_info("/more").file_offset.value());
    CHECK_THROWS_WITH(file.finish(), contains_text("/more"));
  }
  CHECK(same_bytes(path, before));
  CHECK(folder.entries() == 1);
}

TEST_CASE("two writers of one file do not mix: the second is refused", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  auto first = Hdf5File::create(path);
  CHECK_THROWS_WITH(Hdf5File::create(path), contains_text("being written by another process"));
  first.finish();
  CHECK_NOTHROW(write_numbers(path, 3));
}

TEST_CASE("what a killed writer left behind is overwritten", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  write_text(path + ".tmp", std::string(100000, 'x'));
  write_numbers(path, 3);
  CHECK(Hdf5File::open(path).read<float>("/numbers").size() == 3);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a revised file keeps what it had; a link to it stays a link; its mode stays", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5"), link = folder.file("link.h5");
  write_numbers(path, 10);
  std::filesystem::create_symlink(path, link);
  std::filesystem::permissions(path, std::filesystem::perms(0640));
  auto file = Hdf5File::revise(link);
  file.set_count("/", "answer", 42);
  file.finish();
  CHECK(std::filesystem::is_symlink(link));
  CHECK(Hdf5File::open(path).count("/", "answer") == 42);
  CHECK(Hdf5File::open(path).read<float>("/numbers") == std::vector<float>(10, 1.5f));
  CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms(0640));
}

TEST_CASE("the same writes give the same bytes", "[data]") {
  const TemporaryFolder folder;
  write_numbers(folder.file("a.h5"), 1000);
  ::sleep(1);  // a time stamp would differ now
  write_numbers(folder.file("b.h5"), 1000);
  const bool same = read_text(folder.file("a.h5")) == read_text(folder.file("b.h5"));
  CHECK(same);
}

TEST_CASE("many threads read one file at once, each through its own object", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  write_numbers(path, 1000);
  std::vector<std::thread> threads;
  std::vector<int> good(8, 0);
  for (std::size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) good[t] += Hdf5File::open(path).read<float>("/numbers") == std::vector<float>(1000, 1.5f);
    });
  for (auto& thread : threads) thread.join();
  CHECK(good == std::vector<int>(8, 20));
}
