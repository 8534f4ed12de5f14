#include "system/file_replacement.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
namespace fs = std::filesystem;

TEST_CASE("folders are created with those above them, and not where a file is in the way", "[system]") {
  const test::TemporaryFolder folder;
  std::error_code error;
  for (const char* path : {"a/b/c", "a/b/c", "d/e/"}) {
    system::create_folders(folder.file(path), error);
    CHECK_FALSE(error);
    CHECK(fs::is_directory(folder.file(path)));
  }
  std::ofstream(folder.file("file")) << "text";
  for (const char* path : {"file", "file/a"}) {
    system::create_folders(folder.file(path), error);
    CHECK(error == std::errc::not_a_directory);
  }
  CHECK(test::read_text(folder.file("file")) == "text");
}

TEST_CASE("what is no regular file is refused and stays", "[system]") {
  const test::TemporaryFolder folder;
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  fs::create_directory(folder.file("folder"));
  fs::create_symlink("pipe", folder.file("link"));
  for (const char* name : {"pipe", "folder", "link"}) {
    CHECK_THROWS_WITH(system::FileReplacement(folder.file(name)), contains_text("is not a regular file"));
    CHECK_THROWS_AS(system::require_replaceable(folder.file(name)), core::ConfigError);
  }
  CHECK(fs::is_fifo(folder.file("pipe")));
  CHECK(folder.entries() == 3);
}

TEST_CASE("a link is followed to the file that is replaced, which need not exist", "[system]") {
  const test::TemporaryFolder folder;
  const bool exists = GENERATE(true, false);
  fs::create_directory(folder.file("below"));
  if (exists) test::write_text(folder.file("below/file"), "old");
  fs::create_symlink("below/second", folder.file("first"));
  fs::create_symlink("file", folder.file("below/second"));
  system::replace_file(folder.file("first"), [](std::ostream& out) { out << "new"; });
  CHECK(test::read_text(folder.file("below/file")) == "new");
  CHECK(fs::is_symlink(folder.file("first")));
  CHECK(fs::is_symlink(folder.file("below/second")));
}

TEST_CASE("a link under a fixed name is replaced itself, and one under the temporary name refused", "[system]") {
  const test::TemporaryFolder folder;
  test::write_text(folder.file("victim"), "unchanged");
  fs::create_symlink("victim", folder.file("link"));
  system::replace_file(
      folder.file("link"), [](std::ostream& out) { out << "new"; }, system::Links::replace);
  CHECK(test::read_text(folder.file("link")) == "new");
  CHECK_FALSE(fs::is_symlink(folder.file("link")));
  fs::create_symlink("victim", folder.file("file.tmp"));
  CHECK_THROWS_WITH(system::FileReplacement(folder.file("file")), contains_text("symbolic link"));
  fs::remove(folder.file("file.tmp"));
  fs::create_hard_link(folder.file("victim"), folder.file("file.tmp"));
  CHECK_THROWS_WITH(system::FileReplacement(folder.file("file")), contains_text("hard link"));
  fs::remove(folder.file("file.tmp"));
  REQUIRE(::mkfifo(folder.file("file.tmp").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(system::FileReplacement(folder.file("file")), contains_text("not a regular file"));
  CHECK(test::read_text(folder.file("victim")) == "unchanged");
}

TEST_CASE("asking whether a file can be replaced leaves nothing behind", "[system]") {
  const test::TemporaryFolder folder;
  system::require_replaceable(folder.file("file"));
  system::require_replaceable("");
  CHECK(folder.entries() == 0);
  CHECK_THROWS_AS(system::require_replaceable(folder.file("missing/file")), core::ConfigError);
}
