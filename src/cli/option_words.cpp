#include "cli/option_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "cli/option_values.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::cli {
namespace {

const CLI::Option* option_named(const CLI::App& parser, const std::string& typed) {
  for (const CLI::Option* option : named_options(parser))
    if (const auto names = typed_names(*option); std::ranges::find(names, typed) != names.end()) return option;
  return nullptr;
}

/// Whether the word cannot be a value, unless it follows an equals sign. Numbers may begin with one dash.
bool is_option(const CLI::App& parser, const std::string& word) {
  return word.starts_with("--") || option_named(parser, word) != nullptr;
}

/// The subcommand of that name; null if there is none.
const CLI::App* subcommand_named(const CLI::App& parser, const std::string& name) {
  for (const CLI::App* command : parser.get_subcommands({}))
    if (command->get_name() == name) return command;
  return nullptr;
}

/// Its own error says more.
bool is_number(const CLI::Option& option) {
  return std::ranges::any_of(std::array{"INT", "UINT", "FLOAT"},
                             [&](const char* kind) { return value_kind(option).starts_with(kind); });
}

void require_value(const CLI::Option& option, const std::string& name) {
  if (value_kind(option).empty()) throw core::ConfigError(core::format("{0}= has an empty value: write {0}", name));
  if (!is_number(option)) throw core::ConfigError(core::format("{} needs a value, which cannot be empty", name));
}

/// Whether a flag's value follows it; without one it is true. Other words may be arguments of the command, if it has any.
bool has_truth_value(const CLI::App& command, std::span<char*> rest) {
  constexpr std::array values{"true", "false", "on", "off", "yes", "no", "1", "0"};
  if (rest.empty()) return false;
  const std::string_view word = rest.front();
  return std::ranges::find(values, word) != values.end() || (unnamed_arguments(command).empty() && !word.starts_with('-'));
}

/// The value of an option that is the next word.
std::string value_after(const CLI::App& command, const CLI::Option& option, const std::string& name, std::span<char*> rest) {
  if (rest.empty()) throw core::ConfigError(core::format("{} needs a value", name));
  const std::string value = rest.front();
  if (is_option(command, value))
    throw core::ConfigError(
        core::format("{0} needs a value, and '{1}' is an option; if it is the value, write {0}={1}", name, value));
  if (value.empty()) require_value(option, name);
  return value;
}

}  // namespace

std::vector<std::string> words_with_values(const CLI::App& parser, std::span<char*> arguments) {
  std::vector<std::string> words;
  const CLI::App* command = &parser;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string word = arguments[i], name = word.substr(0, word.find('='));
    if (word == "--") {  // nothing after it is an option
      words.insert(words.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    if (const CLI::App* const below = subcommand_named(*command, word)) command = below;
    const CLI::Option* const option = option_named(*command, name);
    const bool has_equals = word.size() > name.size(), is_flag = option == nullptr || value_kind(*option).empty();
    if (option != nullptr && word.ends_with('=') && word.size() == name.size() + 1) {
      require_value(*option, name);
      words.insert(words.end(), {name, ""});
    } else if (is_flag || has_equals) {
      words.push_back(word);
    } else if (value_kind(*option) == "BOOLEAN" && !has_truth_value(*command, arguments.subspan(i + 1))) {
      words.insert(words.end(), {name, "true"});
    } else {
      words.insert(words.end(), {name, value_after(*command, *option, name, arguments.subspan(i + 1))});
      ++i;
    }
  }
  return words;
}

}  // namespace paragrad::cli
