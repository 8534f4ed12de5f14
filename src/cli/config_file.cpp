#include "cli/config_file.hpp"

#include <iterator>

#include "cli/foreign_words.hpp"
#include "cli/option_values.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::cli {
namespace {

/// What follows the option's name in a file; empty if it has no value.
std::string value_in_file(const CLI::Option& option, bool or_default) {
  const std::string kind = value_kind(option);
  const auto written = [&](const std::string& value) {
    return as_toml(value, kind.starts_with("FLOAT") || kind.starts_with("INT") || kind.starts_with("UINT"));
  };
  std::vector<std::string> values;
  for (const std::string& value : option.reduced_results()) values.push_back(written(value));
  if (values.size() > 1) return core::format("[{}]", core::join(values, ", "));
  if (!values.empty()) return values[0];
  if (!or_default) return "";
  if (!option.get_default_str().empty()) return written(option.get_default_str());
  return option.get_expected_min() == 0 ? "false" : "";
}

void give(CLI::Option& option, const ConfigEntry& entry) {
  const bool flag = option.get_expected_min() == 0;
  if (flag && entry.values.size() != 1) throw entry.error(core::format("'{}' must be true or false", entry.key));
  if (entry.values.size() != 1 && option.get_type_name().find(",...") == std::string::npos)
    throw entry.error(core::format("'{}' takes one value, not a list", entry.key));
  if (entry.values.size() == 1 && entry.values[0].empty() && !flag && value_kind(option) == "BOOLEAN")
    throw entry.error(core::format("'{}' must be true or false", entry.key));
  // Options with several values take them as typed on the command line.
  const std::string value = core::format("{}", core::join(entry.values, ","));
  try {
    option.add_result(flag ? option.get_flag_value(entry.key, value) : value);
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    throw entry.error(error.what());
  } catch (const core::ConfigError& error) {
    throw entry.error(error.what());
  }
}

}  // namespace

CLI::Option& option_of(CLI::App& parser, const ConfigEntry& entry) {
  CLI::Option* const option = parser.get_option_no_throw("--" + entry.key);
  if (option == nullptr) {
    std::vector<std::string> known;
    for (const CLI::Option* one : named_options(parser))
      if (one->get_configurable()) known.push_back(one->get_single_name());
    const std::string answer = answer_to("option", entry.key, known);
    throw entry.error(answer.empty() ? core::format("unknown key '{}' (paragrad {} --help lists the options)", entry.key,
                                                    parser.get_name())
                                     : core::format("unknown key '{}'; {}", entry.key, answer));
  }
  if (!option->get_configurable()) throw entry.error(core::format("'{}' can be given on the command line only", entry.key));
  return *option;
}

std::string ConfigFile::to_config(const CLI::App* app, bool default_also, bool /*write_description*/,
                                  std::string /*prefix*/) const {
  const std::string first_group = "Options";  // also that of options without any
  std::vector<std::string> groups = app->get_groups();
  std::erase(groups, first_group);
  groups.insert(groups.begin(), first_group);
  std::string text;
  for (const std::string& group : groups)
    for (const CLI::Option* option : app->get_options({})) {
      if (!option->get_configurable() || (option->get_group().empty() ? first_group : option->get_group()) != group)
        continue;
      const std::string value = value_in_file(*option, default_also);
      if (!value.empty()) text += core::format("{}={}\n", option->get_single_name(), value);
    }
  return text;
}

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& input) const {
  const std::string text(std::istreambuf_iterator<char>(input), {});
  for (const ConfigEntry& entry : read_flat_toml(text, parser_.get_config_ptr()->as<std::string>())) {
    CLI::Option& option = option_of(parser_, entry);
    if (option.empty()) give(option, entry);
  }
  return {};
}

}  // namespace paragrad::cli
