#include "system/mapping_fault.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "catch.hpp"
#include "system/file_map.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::test;

namespace {

std::string fault_at(const void* address) {
  std::vector<char> text(3000);
  return std::string(system::describe_mapping_fault(address, text));
}

/// Three pages of zeros under the name `path`.
system::FileMap three_pages(const std::string& path) {
  write_text(path, std::string(3 * 4096, '\0'));
  return system::FileMap::open(path);
}

}  // namespace

TEST_CASE("a fault beyond the end of a mapped file is a file cut short", "[system]") {
  const TemporaryFolder folder;
  const auto map = three_pages(folder.file("x.h5"));
  std::filesystem::resize_file(folder.file("x.h5"), 5000);
  CHECK(fault_at(&map.bytes()[8192]) ==
        "'" + folder.file("x.h5") + "' was truncated to 5000 bytes while it was being read; restore the file\n");
}

TEST_CASE("a fault within a mapped file is the disk's", "[system]") {
  const TemporaryFolder folder;
  const auto map = three_pages(folder.file("x.h5"));
  CHECK(fault_at(&map.bytes()[8200]) ==
        "'" + folder.file("x.h5") + "' cannot be read at byte 8200: its disk or file server reports an error\n");
}

TEST_CASE("of a mapped file that has lost its name, the length is not known", "[system]") {
  const TemporaryFolder folder;
  const auto map = three_pages(folder.file("x.h5"));
  write_text(folder.file("y.h5"), "another");
  std::filesystem::rename(folder.file("y.h5"), folder.file("x.h5"));
  CHECK_THAT(fault_at(&map.bytes()[4096]), contains_text("x.h5 (deleted)' was truncated, or its disk failed"));
}

TEST_CASE("a fault in memory that no file is read from is described by nobody", "[system]") {
  const int here = 0;
  CHECK(fault_at(&here).empty());
  CHECK(fault_at(nullptr).empty());
  const TemporaryFolder folder;  // nor where a file is written to: there the disk may be full
  write_text(folder.file("x"), std::string(4096, '\0'));
  const int file = ::open(folder.file("x").c_str(), O_RDWR | O_CLOEXEC);
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  REQUIRE(memory != MAP_FAILED);
  CHECK(fault_at(memory).empty());
  ::munmap(memory, 4096);
}

TEST_CASE("the name of a file that faults reaches no terminal as a command", "[system]") {
  const TemporaryFolder folder;
  const auto map = three_pages(folder.file("red\x1b[31m.h5"));
  CHECK_THAT(fault_at(map.bytes().data()), contains_text("red?[31m.h5'"));
}
