#include "app/search/search_identity.hpp"

#include <filesystem>

#include "core/errors.hpp"
#include "core/file_replacement.hpp"
#include "core/files.hpp"
#include "core/format.hpp"

namespace paragrad::app {
namespace {

std::string path_in(const std::string& folder) { return folder + "/search.json"; }

}  // namespace

core::Json search_identity(const SearchArguments& arguments) {
  return {{"command", arguments.command},     {"options", core::read_text(arguments.file)},
          {"seeds", arguments.seeds},         {"draws", arguments.draws},
          {"draw-seed", arguments.draw_seed}, {"measure", arguments.measure},
          {"rungs", arguments.rungs},         {"keep", arguments.keep},
          {"ranks", arguments.ranks}};
}

void check_same_search(const std::string& folder, const core::Json& identity, const std::string& file) {
  const std::string path = path_in(folder);
  if (!std::filesystem::exists(path))
    throw core::ConfigError(
        core::format("'{}' holds no search: begin it with --write-jobs, or without --part and --only-rank", folder));
  const core::Json before = core::Json::parse(core::read_text(path), nullptr, false);
  for (const auto& [key, value] : identity.items())
    if (!before.is_object() || before.value(key, core::Json()) != value)
      throw core::ConfigError(
          core::format("'{}' holds another search: {} differs; give the same as before, or another --out", folder,
                       key == "options" ? "'" + file + "'" : "--" + key));
}

void begin_search(const std::string& folder, const core::Json& identity, const std::string& file) {
  if (std::filesystem::exists(path_in(folder))) return check_same_search(folder, identity, file);
  core::replace_file(path_in(folder), [&](std::ostream& out) { out << core::text_of(identity, 1) << "\n"; });
}

}  // namespace paragrad::app
