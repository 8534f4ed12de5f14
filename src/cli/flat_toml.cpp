#include "cli/flat_toml.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "core/format.hpp"
#include "core/numbers.hpp"
#include "core/printable.hpp"
#include "core/toml.hpp"

namespace paragrad::cli {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(blanks);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Whether a value stands in TOML as it is: truth values and decimal numbers, of which whole ones have 64 bits.
bool is_bare(const std::string& text) {
  if (text == "true" || text == "false" || text == "inf" || text == "nan") return true;
  if (text.empty() || text.find_first_not_of("+-.0123456789eE") != std::string::npos) return false;
  try {
    return core::parse_toml("", "value = " + text)["value"].is_number();
  } catch (const core::TomlError&) {
    return false;
  }
}

std::string in_quotes(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\')
      text += {'\\', c};
    else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
      text += core::format("\\u{:04x}", c);
    else
      text += c;
  }
  return text + '"';
}

/// The string at the beginning of a text, with its quotation marks.
std::string_view string_at_begin(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && text[at] != text[0]) at += text[0] == '"' && text[at] == '\\' ? 2 : 1;
  return text.substr(0, at + 1);
}

/// Whether a string begins in a line that does not end there.
bool has_open_string(std::string_view line) {
  while (!line.empty() && line[0] != '#') {
    const bool string = line[0] == '"' || line[0] == '\'';
    const std::string_view piece = string ? string_at_begin(line) : line.substr(0, 1);
    if (string && (piece.size() == 1 || piece.back() != line[0])) return true;
    line.remove_prefix(piece.size());
  }
  return false;
}

/// The part of a line from its value on: after the '=' or, in the continuation of a list, all of it.
std::size_t value_in(std::string_view line) {
  const auto equals = line.find_first_of("=\"'[],#");
  return equals == std::string_view::npos || line[equals] != '=' ? 0 : equals + 1;
}

/// The line with quotation marks around the strings that lack them, and with .5 as 0.5.
std::string corrected(std::string_view line) {
  const std::size_t begin = value_in(line);
  std::string result(line.substr(0, begin));
  std::string_view rest = line.substr(begin);
  const bool list = begin == 0 || trimmed(rest).starts_with('[');
  while (!rest.empty() && rest[0] != '#') {
    std::string_view piece = rest.substr(0, 1);
    if (piece == "\"" || piece == "'") {
      piece = string_at_begin(rest);
      result += piece;
    } else if (blanks.find(piece[0]) != std::string_view::npos ||
               (list && std::string_view("[],").find(piece[0]) != std::string_view::npos)) {
      result += piece;
    } else {
      piece = rest.substr(0, rest.find_first_of(list ? "],#" : "#"));
      const std::string_view word = trimmed(piece);
      result += word == "True" || word == "False" ? core::format("{}{}", word[0] == 'T' ? 't' : 'f', word.substr(1))
                                                  : as_toml(std::string(word), true);
    }
    rest.remove_prefix(piece.size());
  }
  return result;
}

/// A file and its lines.
class Text {
 public:
  Text(std::string_view text, const std::string& file) : text_(text), file_(core::format("'{}'", file)) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines_.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  toml::table parsed() const {
    try {
      return core::parse_toml(file_, text_);
    } catch (const core::TomlError& error) {
      throw core::TomlError(file_, error.line, explained(error));
    }
  }

  std::string_view line(std::size_t number) const {
    return number >= 1 && number <= lines_.size() ? trimmed(lines_[number - 1]) : std::string_view();
  }

  /// What is written where a value begins, up to the end of a number or a date.
  std::string source(const toml::node& node) const {
    const toml::source_position begin = node.source().begin;
    if (begin.line != number_of_columns_) find_columns(begin.line);
    if (begin.column == 0 || begin.column > columns_.size()) throw std::logic_error("a value outside its line");
    const std::string_view text = lines_[begin.line - 1].substr(columns_[begin.column - 1]);
    std::string result(text.substr(0, text.find_first_of(" \t\r,]#")));
    std::erase(result, '_');
    return result;
  }

  core::ConfigError error(std::size_t number, const std::string& what) const {
    return core::TomlError(file_, static_cast<int>(number), what);
  }

 private:
  std::string explained(const core::TomlError& error) const {
    if (core::line_nested_too_deeply(text_) > 0) return error.reason;
    const std::string_view text = line(static_cast<std::size_t>(error.line));
    const std::size_t value = value_in(text);
    const std::string_view key = trimmed(text.substr(0, value == 0 ? 0 : value - 1));
    const bool twice = error.reason.find("cannot redefine") != std::string::npos;
    for (int before = error.line - 1; twice && !key.empty() && before > 0; --before)
      if (const std::string_view other = line(static_cast<std::size_t>(before));
          value_in(other) > 0 && trimmed(other.substr(0, value_in(other) - 1)) == key)
        return core::format("'{}' is already set in line {}", key, before);
    if (value == 0 && !text.empty() && error.reason.find("key") != std::string::npos)
      return core::format("'{}' is not 'key = value'", text);
    if (value > 0 && trimmed(text.substr(value)).empty()) return "a value is missing";
    if (const std::string right = corrected(text); right != text && is_toml(right))
      return core::format("not TOML: write {}", right);
    if (has_open_string(text)) return "an unterminated string";
    if (error.reason.find("escape") != std::string::npos || error.reason.find("unicode") != std::string::npos)
      return "a backslash between double quotation marks begins an escape: write \\\\, or single quotation marks";
    return core::format("not TOML: {}", error.reason);
  }

  /// Whether this can be a line of a file, perhaps one of a list over several lines.
  static bool is_toml(const std::string& line) {
    const std::string begin = value_in(line) > 0 ? "" : "key = [";
    return std::ranges::any_of(std::array{"", "\n]"}, [&](const char* end) {
      try {
        core::parse_toml("", begin + line + end);
        return true;
      } catch (const core::TomlError&) {
        return false;
      }
    });
  }

  /// The parser counts characters, not bytes.
  void find_columns(std::size_t line) const {
    number_of_columns_ = line;
    columns_.clear();
    const std::string_view text = lines_.at(line - 1);
    const bool marked = line == 1 && text.starts_with("\xef\xbb\xbf");  // is no character
    for (std::size_t i = marked ? 3 : 0; i < text.size(); ++i)
      if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) columns_.push_back(i);
  }

  std::string_view text_;
  std::string file_;
  std::vector<std::string_view> lines_;
  mutable std::size_t number_of_columns_ = 0;  ///< of the line whose columns are known
  mutable std::vector<std::size_t> columns_;   ///< where each character of that line begins
};

/// A string, number or truth value; nothing for others.
std::optional<std::string> scalar(const Text& text, const toml::node& node) {
  if (const auto* string = node.as_string()) return string->get();
  if (node.is_number()) return text.source(node);
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  return std::nullopt;
}

std::vector<std::string> values_of(const Text& text, const std::string& key, const toml::node& node) {
  std::vector<std::string> values;
  const auto add = [&](const toml::node& one) {
    const auto value = scalar(text, one);
    if (!value && one.is_array()) throw text.error(one.source().begin.line, core::format("'{}' is a nested list", key));
    if (!value)
      throw text.error(one.source().begin.line,
                       core::format("'{}' is a date or a time: a string needs quotation marks", text.source(one)));
    values.push_back(*value);
  };
  if (const toml::array* list = node.as_array())
    for (const toml::node& one : *list) add(one);
  else
    add(node);
  return values;
}

bool has_table(const toml::node& node) {
  const toml::array* const list = node.as_array();
  return node.is_table() ||
         (list != nullptr && std::ranges::any_of(*list, [](const toml::node& one) { return one.is_table(); }));
}

/// The keys of a table in their order.
std::vector<ConfigEntry> entries_of(const Text& lines, const toml::table& table, const std::string& file) {
  std::vector<ConfigEntry> entries;
  for (const auto& [key, node] : table) {
    const std::size_t line = key.source().begin.line;
    const std::string name(key.str());
    if (has_table(node)) throw lines.error(line, core::format("'{}' is not 'key = value'", lines.line(line)));
    entries.push_back({file, static_cast<int>(line), name, values_of(lines, name, node), node.is_array()});
  }
  std::ranges::sort(entries, {}, &ConfigEntry::line);
  return entries;
}

/// The value if it is a number, exactly.
template <class T>
std::optional<T> number_in(const std::string& text) {
  return core::number_of<T>(text == "true" ? "1" : text == "false" ? "0" : std::string_view(text));
}

}  // namespace

core::ConfigError ConfigEntry::error(const std::string& what) const {
  return core::ConfigError(core::format("'{}', line {}: {}", file, line, what));
}

std::vector<ConfigEntry> read_flat_toml(std::string_view text, const std::string& file) {
  const Text lines(text, file);
  return entries_of(lines, lines.parsed(), file);
}

ConfigTables read_tables(std::string_view text, const std::string& file, std::string_view name) {
  const Text lines(text, file);
  toml::table keys = lines.parsed();
  ConfigTables found;
  if (const toml::array* const tables = keys[name].as_array(); tables != nullptr && has_table(*tables)) {
    for (const toml::node& one : *tables) {
      const std::size_t line = one.source().begin.line;
      if (!one.is_table() || !lines.line(line).starts_with("[["))
        throw lines.error(line, core::format("write each '{}' as a table that begins with a line [[{}]]", name, name));
      found.tables.push_back({static_cast<int>(line), entries_of(lines, *one.as_table(), file)});
    }
    keys.erase(name);
  } else if (keys[name].is_table()) {
    throw lines.error(keys[name].node()->source().begin.line, core::format("write [[{}]], with two brackets", name));
  }
  for (const auto& [key, node] : keys)
    if (has_table(node))
      throw lines.error(key.source().begin.line, core::format("'{}': the tables of this file are called [[{}]]",
                                                              lines.line(key.source().begin.line), name));
  found.keys = entries_of(lines, keys, file);
  return found;
}

std::string as_toml(const std::string& value, bool is_number) {
  if (is_bare(value)) return value;
  if (!is_number || core::number_of<std::uint64_t>(value) > std::uint64_t{INT64_MAX}) return in_quotes(value);
  if (const auto whole = core::number_of<std::int64_t>(value)) return core::format("{}", *whole);
  const auto number = core::number_of<double>(value);
  return number && std::isfinite(*number) ? core::format("{}", *number) : in_quotes(value);
}

void require_utf8(const std::string& config) {
  std::istringstream lines(config);
  for (std::string line; std::getline(lines, line);)
    if (const auto equals = line.find('='); !core::is_utf8(line))
      throw core::ConfigError(
          core::format("`{}`: {} is not UTF-8, so config.toml cannot record it; rename it, or record nothing",
                       line.substr(0, equals), line.substr(equals + 1)));
}

std::string text_of_toml(const std::string& value) {
  if (value.empty() || std::string_view("\"'").find(value[0]) == std::string_view::npos) return value;
  return read_flat_toml("value = " + value, "config.toml").front().values.front();
}

bool same_in_toml(const std::string& a, const std::string& b) {
  const std::string first = text_of_toml(a), second = text_of_toml(b);
  if (first == second) return true;
  const auto same = [&]<class T>(std::optional<T> one) { return one && one == number_in<T>(second); };
  if (same(number_in<std::int64_t>(first)) || same(number_in<std::uint64_t>(first))) return true;
  const auto is_whole = [](const std::string& text) { return text.find_first_not_of("+-0123456789") == std::string::npos; };
  return !(is_whole(first) && is_whole(second)) && same(number_in<double>(first));
}

}  // namespace paragrad::cli
