#include "core/file_replacement.hpp"

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
namespace fs = std::filesystem;

TEST_CASE("folders are created with those above them, and not where a file is in the way", "[core]") {
  const test::TemporaryFolder folder;
  std::error_code error;
  for (const char* path : {"a/b/c", "a/b/c", "d/e/"}) {
    core::create_folders(folder.file(path), error);
    CHECK_FALSE(error);
    CHECK(fs::is_directory(folder.file(path)));
  }
  std::ofstream(folder.file("file")) << "text";
  for (const char* path : {"file", "file/a"}) {
    core::create_folders(folder.file(path), error);
    CHECK(error == std::errc::not_a_directory);
  }
  CHECK(test::read_text(folder.file("file")) == "text");
}
