#include "system/folder_lock.hpp"

#include "catch.hpp"
#include "core/errors.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using system::FolderLock;

TEST_CASE("parts of a folder exclude each other only where they overlap", "[system]") {
  const test::TemporaryFolder folder;
  using Parts = std::vector<std::size_t>;
  {
    const FolderLock first(folder.path(), Parts{0, 2});
    CHECK_NOTHROW(FolderLock(folder.path(), Parts{1, 3}));
    CHECK_THROWS_WITH(FolderLock(folder.path(), Parts{2}), contains_text("in use by another process"));
    CHECK_THROWS_WITH(FolderLock(folder.path()), contains_text("in use by another process"));
  }
  const FolderLock whole(folder.path());
  CHECK_THROWS_AS(FolderLock(folder.path(), Parts{7}), core::ConfigError);
}
