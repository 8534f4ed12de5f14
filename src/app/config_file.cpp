#include "app/config_file.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "app/foreign_words.hpp"
#include "app/option_values.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::app {
namespace {

constexpr const char* line_blanks = " \t\r";

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(line_blanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(line_blanks) - begin + 1);
}

/// A line and its position.
struct Line {
  std::string file;
  int number;
  std::string text;

  core::ConfigError error(const std::string& what) const {
    return core::ConfigError(core::format("'{}', line {}: {}", file, number, what));
  }
};

/// Position of the first occurrence of a character outside quotes.
std::size_t find_unquoted(const std::string& text, char wanted) {
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;  // and what it escapes
      continue;
    }
    if (quote == '\0' && text[i] == wanted) return i;
    if (quote == '\0' && (text[i] == '"' || text[i] == '\''))
      quote = text[i];
    else if (text[i] == quote)
      quote = '\0';
  }
  return std::string::npos;
}

std::string without_remark(const std::string& text) { return trimmed(text.substr(0, find_unquoted(text, '#'))); }

std::string utf8(unsigned code) {
  const auto byte = [](unsigned value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | code >> 6), byte(0x80 | (code & 0x3f))};
  return {byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 0x3f)), byte(0x80 | (code & 0x3f))};
}

/// The values after the '=' of a line without its comment: one, or the elements of a list.
class Values {
 public:
  Values(const Line& line, std::string text) : line_(line), text_(std::move(text)) {}

  std::vector<std::string> read() {
    std::vector<std::string> values;
    const bool list = take('[');
    if (list && take(']')) return values;
    do {
      values.push_back(value(list));
    } while (list && take(','));
    if (list && !take(']')) throw line_.error("a list needs commas between its values and ends with ']'");
    skip();
    if (at_ < text_.size()) throw line_.error(core::format("unexpected '{}' after the value", text_.substr(at_)));
    return values;
  }

 private:
  void skip() { at_ = std::min(text_.find_first_not_of(line_blanks, at_), text_.size()); }

  bool take(char wanted) {
    skip();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::string value(bool in_list) {
    skip();
    for (const char quote : {'"', '\''})
      if (take(quote)) return quoted(quote);
    const auto end = in_list ? std::min(text_.find_first_of(",]", at_), text_.size()) : text_.size();
    const std::string bare = trimmed(text_.substr(at_, end - at_));
    if (bare.empty()) throw line_.error("a value is missing");
    at_ = end;
    return bare;
  }

  /// A string of TOML after its first quotation mark: a basic one ("), or a literal one ('), which has no escapes.
  std::string quoted(char quote) {
    std::string inside;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == quote) return inside;
      inside += c == '\\' && quote == '"' ? escaped() : std::string(1, c);
    }
    throw line_.error(core::format("a string that begins with {} does not end", quote));
  }

  /// What an escape means, after its backslash.
  std::string escaped() {
    constexpr std::string_view letters = "\"\\bfnrt", meanings = "\"\\\b\f\n\r\t";
    const char letter = at_ < text_.size() ? text_[at_++] : '\0';
    if (const auto found = letters.find(letter); found != std::string_view::npos) return std::string(1, meanings[found]);
    const std::string digits = text_.substr(at_, letter == 'u' ? 4 : 0);
    unsigned code = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || end != digits.data() + 4)
      throw line_.error(
          "a backslash between double quotation marks begins an escape, such as \\\" or \\n: write it as \\\\");
    at_ += digits.size();
    return utf8(code);
  }

  const Line& line_;
  std::string text_;
  std::size_t at_ = 0;
};

/// As CLI11 writes a value or, where that could not be read back, as a basic string of TOML.
std::string written(const std::string& value) {
  const auto needs_escape = [](unsigned char c) { return c == '"' || c == '\\' || c < ' ' || c == 0x7f; };
  if (value != "'" && std::ranges::none_of(value, needs_escape)) return CLI::detail::convert_arg_for_ini(value);
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\')
      text += {'\\', c};
    else if (needs_escape(static_cast<unsigned char>(c)))
      text += core::format("\\u{:04x}", c);
    else
      text += c;
  }
  return text + '"';
}

/// What follows the option's name in a file; empty if it has no value.
std::string value_in_file(const CLI::Option& option, bool or_default) {
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

core::ConfigError ConfigEntry::error(const std::string& what) const { return Line{file, line, ""}.error(what); }

std::vector<ConfigEntry> read_config(std::istream& input, const std::string& file) {
  Line line{file, 0, ""};
  std::vector<ConfigEntry> entries;
  while (std::getline(input, line.text)) {
    if (constexpr std::string_view mark = "\xef\xbb\xbf"; line.number == 0 && line.text.starts_with(mark))
      line.text.erase(0, mark.size());  // the byte order mark that editors of Windows write
    ++line.number;
    const std::string text = trimmed(line.text);
    if (text.empty() || text.front() == '#') continue;
    const auto equals = text.find('=');
    if (text.front() == '[' || equals == std::string::npos || equals == 0)
      throw line.error(core::format("'{}' is not 'key = value'", text));
    const std::string key = trimmed(text.substr(0, equals));
    std::string value = without_remark(text.substr(equals + 1));
    const Line first = line;
    // A list may continue over several lines.
    while (value.starts_with('[') && find_unquoted(value, ']') == std::string::npos && std::getline(input, line.text)) {
      ++line.number;
      value += ' ' + without_remark(line.text);
    }
    for (const ConfigEntry& before : entries)
      if (before.key == key) throw first.error(core::format("'{}' is already set in line {}", key, before.line));
    entries.push_back({file, first.number, key, Values(first, value).read(), value.starts_with('[')});
  }
  return entries;
}

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
  for (const ConfigEntry& entry : read_config(input, parser_.get_config_ptr()->as<std::string>())) {
    CLI::Option& option = option_of(parser_, entry);
    if (option.empty()) give(option, entry);
  }
  return {};
}

}  // namespace paragrad::app
