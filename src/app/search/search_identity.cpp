#include "app/search/search_identity.hpp"

#include <filesystem>

#include "core/errors.hpp"
#include "core/file_replacement.hpp"
#include "core/files.hpp"
#include "core/format.hpp"

namespace paragrad::app {

void check_same_search(const std::string& folder, const core::Json& identity, const std::string& file) {
  const std::string path = folder + "/search.json";
  if (!std::filesystem::exists(path))
    return core::replace_file(path, [&](std::ostream& out) { out << core::text_of(identity, 1) << "\n"; });
  const core::Json before = core::Json::parse(core::read_text(path), nullptr, false);
  for (const auto& [key, value] : identity.items())
    if (!before.is_object() || before.value(key, core::Json()) != value)
      throw core::ConfigError(
          core::format("'{}' holds another search: {} differs; give the same as before, or another --out", folder,
                       key == "options" ? "'" + file + "'" : "--" + key));
}

}  // namespace paragrad::app
