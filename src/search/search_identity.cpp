#include "search/search_identity.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/sha256.hpp"
#include "data/dataset.hpp"
#include "sim/platform.hpp"
#include "system/file_replacement.hpp"
#include "system/files.hpp"

namespace paragrad::search {
namespace {

constexpr const char* content_key = "content";

std::string path_in(const std::string& folder) { return folder + "/search.json"; }

/// Of what a value of the option refers to; nothing if it is no file, or one that the runs will report.
std::optional<std::string> digest_of(const std::string& option, const std::string& value) {
  constexpr std::string_view network = "file:";
  try {
    if (option == "data") return data::Dataset::open(value)->info().content_sha256;
    if (option == "platform") return sim::read_platform(value).sha256;
    if (option == "init") return core::sha256_of_file(value);
    if (option == "model" && value.starts_with(network)) return core::sha256_of_file(value.substr(network.size()));
  } catch (const core::ConfigError&) {
  }
  return std::nullopt;
}

/// Of the files that the options of the runs name, by these values.
core::Json content_of(const SearchPlan& plan) {
  core::Json digests = core::Json::object();
  std::set<std::pair<std::string, std::string>> seen;
  for (const Configuration& configuration : plan.configurations)
    for (const auto& [option, value] : configuration.values)
      for (const std::uint64_t seed : plan.seeds)
        if (const std::string one = with_seed(value, seed); seen.emplace(option, one).second)
          if (const auto digest = digest_of(option, one)) digests[one] = *digest;
  return digests;
}

void check_same_content(const std::string& folder, const core::Json& before, const core::Json& now) {
  for (const auto& [file, digest] : now.items())
    if (before.is_object() && before.contains(file) && before.at(file) != digest)
      throw core::ConfigError(core::format(
          "'{}' holds another search: the content of '{}' differs; restore the file, or give another --out", folder, file));
}

}  // namespace

core::Json search_identity(const SearchArguments& arguments, const SearchPlan& plan) {
  return {{"command", arguments.command},     {"options", system::read_text(arguments.file)},
          {"seeds", arguments.seeds},         {"draws", arguments.draws},
          {"draw-seed", arguments.draw_seed}, {"measure", arguments.measure},
          {"rungs", arguments.rungs},         {"keep", arguments.keep},
          {"ranks", arguments.ranks},         {content_key, content_of(plan)}};
}

void check_same_search(const std::string& folder, const core::Json& identity, const std::string& file) {
  const std::string path = path_in(folder);
  if (!std::filesystem::exists(path))
    throw core::ConfigError(
        core::format("'{}' holds no search: begin it with --write-jobs, or without --part and --only-rank", folder));
  const core::Json before = core::parse_json_or_discard(system::read_text(path));
  for (const auto& [key, value] : identity.items())
    if (key == content_key)
      check_same_content(folder, before.is_object() ? before.value(key, core::Json()) : core::Json(), value);
    else if (!before.is_object() || before.value(key, core::Json()) != value)
      throw core::ConfigError(
          core::format("'{}' holds another search: {} differs; give the same as before, or another --out", folder,
                       key == "options" ? "'" + file + "'" : "--" + key));
}

void begin_search(const std::string& folder, const core::Json& identity, const std::string& file) {
  if (std::filesystem::exists(path_in(folder))) return check_same_search(folder, identity, file);
  if (std::filesystem::exists(folder + "/metrics.jsonl"))
    throw core::ConfigError(core::format("'{}' contains a run; choose another --out", folder));
  system::replace_file(
      path_in(folder), [&](std::ostream& out) { out << core::text_of(identity, 1) << "\n"; }, system::Links::replace);
}

}  // namespace paragrad::search
