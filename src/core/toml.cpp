#include "core/toml.hpp"

#include <algorithm>

#include "core/format.hpp"

namespace paragrad::core {
namespace {

constexpr int deepest = 32;

/// Removes a string from the beginning of the text, up to its closing marks or, if it has only one of them, the end of the
/// line. Returns the line breaks in it.
int skip_string(std::string_view& text) {
  const char mark = text[0];
  const bool several_lines = text.size() >= 3 && text[1] == mark && text[2] == mark;
  const std::string_view marks = text.substr(0, several_lines ? 3 : 1);
  std::size_t at = marks.size();
  int breaks = 0;
  while (at < text.size() && !text.substr(at).starts_with(marks)) {
    if (text[at] == '\n') {
      if (!several_lines) break;
      ++breaks;
    }
    at += mark == '"' && text[at] == '\\' ? 2 : 1;
  }
  text.remove_prefix(std::min(at + marks.size(), text.size()));
  return breaks;
}

}  // namespace

TomlError::TomlError(const std::string& file, int at, const std::string& why)
    : ConfigError(format("{}, line {}: {}", file, at, why)), line(at), reason(why) {}

toml::table parse_toml(const std::string& file, std::string_view text) {
  if (const int line = line_nested_too_deeply(text); line > 0)
    throw TomlError(file, line, "brackets or dotted keys nest too deeply");
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw TomlError(file, static_cast<int>(error.source().begin.line), std::string(error.description()));
  }
}

int line_nested_too_deeply(std::string_view text) {
  int line = 1, brackets = 0, dots = 0;
  while (!text.empty()) {
    const char c = text[0];
    if (c == '"' || c == '\'') {
      line += skip_string(text);
      continue;
    }
    if (c == '#') text.remove_prefix(std::min(text.find('\n'), text.size() - 1));
    if (text[0] == '\n') ++line;
    if (c == '[' || c == '{') ++brackets;
    if (c == ']' || c == '}') brackets = std::max(brackets - 1, 0);
    if (c == '.') ++dots;
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{' || c == '#') dots = 0;
    if (brackets > deepest || dots >= deepest) return line;
    text.remove_prefix(1);
  }
  return 0;
}

}  // namespace paragrad::core
