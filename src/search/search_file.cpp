#include "search/search_file.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "cli/config_file.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "search/run_words.hpp"
#include "search/search_arguments.hpp"
#include "system/files.hpp"

namespace paragrad::search {
namespace {

using Entries = std::vector<cli::ConfigEntry>;

constexpr const char *table_name = "run", *name_key = "name";

/// "; the search has --seeds", where it has an option for what it sets itself.
std::string instead_of(const std::string& option) {
  SearchArguments arguments;
  core::OptionList list;
  arguments.describe(list);
  for (const core::OptionInfo& info : list.infos())
    if (info.name == option || info.name == option + "s") return core::format("; the search has --{}", info.name);
  return "";
}

/// Throws ConfigError, with the line, for an empty list or an invalid range.
void check_values(const cli::ConfigEntry& entry) {
  try {
    Space().add(entry.key, entry.values);
  } catch (const core::ConfigError& error) {
    throw entry.error(error.what());
  }
}

class Reader {
 public:
  explicit Reader(const cli::Command& runs) : runs_(*runs.parser) {}

  void require_options(const Entries& entries) const {
    for (const cli::ConfigEntry& entry : entries) {
      if (own_.contains(entry.key) || runs_.get_config_ptr()->check_lname(entry.key))
        throw entry.error(core::format("'{}' is set by the search{}", entry.key, instead_of(entry.key)));
      if (entry.key == name_key || entry.key == table_name)
        throw entry.error(
            core::format("'{}' belongs to a method, whose options follow a line [[{}]]", entry.key, table_name));
      cli::option_of(runs_, entry);
      check_values(entry);
    }
  }

 private:
  CLI::App& runs_;
  std::set<std::string> own_ = options_set_by_search();
};

/// Takes the name out of the keys of a method.
std::string take_name(Entries& own) {
  const auto given = std::ranges::find(own, name_key, &cli::ConfigEntry::key);
  if (given == own.end()) return "";
  if (given->is_list || given->values[0].empty())
    throw given->error("the name of a method is a text, such as name = \"BMUF\"");
  std::string name = given->values[0];
  own.erase(given);
  return name;
}

bool has_one_value(const cli::ConfigEntry& entry) {
  return entry.values.size() == 1 && !Range::parse(entry.key, entry.values[0]);
}

/// "bmuf, blocks=5": the method's own options, without those that vary in a method.
std::string name_from(const Entries& own, const std::set<std::string>& varied) {
  std::string name;
  for (const cli::ConfigEntry& entry : own)
    if (!varied.contains(entry.key))
      name += (name.empty() ? "" : ", ") + (entry.key == "strategy" ? "" : entry.key + "=") + entry.values[0];
  return name;
}

/// The options of all methods with several values or a range.
std::set<std::string> varied_in(const cli::ConfigTables& read) {
  std::set<std::string> options;
  const auto add = [&](const Entries& entries) {
    for (const cli::ConfigEntry& entry : entries)
      if (!has_one_value(entry)) options.insert(entry.key);
  };
  add(read.keys);
  for (const cli::ConfigTables::Table& table : read.tables) add(table.keys);
  return options;
}

Space space_of(const Entries& common, const Entries& own) {
  Space space;
  for (const cli::ConfigEntry& entry : common)
    if (std::ranges::find(own, entry.key, &cli::ConfigEntry::key) == own.end()) space.add(entry.key, entry.values);
  for (const cli::ConfigEntry& entry : own) space.add(entry.key, entry.values);
  return space;
}

}  // namespace

Methods read_methods(const std::string& file, const cli::Command& runs) {
  cli::ConfigTables read = cli::read_tables(system::read_text(file), file, table_name);
  const Reader reader(runs);
  reader.require_options(read.keys);
  std::vector<std::string> names;
  for (auto& [line, own] : read.tables) {
    names.push_back(take_name(own));
    reader.require_options(own);
  }
  const std::set<std::string> varied = varied_in(read);
  Methods methods;
  if (read.tables.empty()) methods.add("", space_of(read.keys, {}));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& [line, own] = read.tables[i];
    const std::string name = names[i].empty() ? name_from(own, varied) : names[i];
    try {
      if (name.empty()) throw core::ConfigError(core::format("this method needs a name: {} = \"…\"", name_key));
      methods.add(name, space_of(read.keys, own));
    } catch (const core::ConfigError& error) {
      throw core::ConfigError(core::format("'{}', line {}: {}", core::printable(file), line, error.what()));
    }
  }
  return methods;
}

}  // namespace paragrad::search
