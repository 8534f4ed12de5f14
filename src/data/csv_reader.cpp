#include "data/csv_reader.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 16, longest_field = std::size_t{1} << 20;
constexpr std::size_t most_fields = 1'000'001;  // a label, and as many features as a network can have inputs

bool is_line_end(int character) { return character == '\n' || character == '\r'; }

void trim(std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return text.clear();
  text.erase(text.find_last_not_of(" \t") + 1);
  text.erase(0, begin);
}

}  // namespace

CsvReader::CsvReader(GzipFile& file, char separator, bool decimal_comma) : file_(file), separator_(separator) {
  peek();
  constexpr std::array<std::uint8_t, 3> mark{0xef, 0xbb, 0xbf};
  if (bytes_.size() >= mark.size() && std::equal(mark.begin(), mark.end(), bytes_.begin())) at_ = mark.size();
  if (bytes_.size() >= 2 && std::min(bytes_[0], bytes_[1]) == 0xfe && std::max(bytes_[0], bytes_[1]) == 0xff)
    throw core::ConfigError(core::format("'{}' is encoded in UTF-16: convert it to UTF-8", file_.path()));
  if (separator_ == '\0') detect_separator(decimal_comma);
}

int CsvReader::peek() {
  if (at_ == bytes_.size()) {
    bytes_.resize(chunk);
    bytes_.resize(file_.read(bytes_));
    at_ = 0;
  }
  return bytes_.empty() ? end : bytes_[at_];
}

int CsvReader::take() {
  const int character = peek();
  if (character == end) return end;
  ++at_;
  if (character == '\n' || (character == '\r' && peek() != '\n')) ++line_;
  return character;
}

void CsvReader::skip_blanks() {
  while (peek() == ' ' || (separator_ == ' ' && peek() == '\t')) take();
}

bool CsvReader::skip_empty_lines() {
  for (;; take()) {
    if (separator_ == ' ') skip_blanks();
    if (separator_ == ' ' && peek() == '#') {
      ++comments_;
      while (peek() != end && !is_line_end(peek())) take();
    }
    if (!is_line_end(peek())) return peek() != end;
  }
}

bool CsvReader::ends_field() {
  const int next = peek();
  return next == end || is_line_end(next) || next == separator_ || (separator_ == ' ' && next == '\t');
}

/// Looks at no more than the first chunk of the file.
void CsvReader::detect_separator(bool decimal_comma) {
  if (!skip_empty_lines()) return;
  const std::string_view wanted = decimal_comma ? "\t; " : "\t;, ";  // the first of these that occurs
  std::size_t found = wanted.size();
  bool inside = false;
  std::size_t begin = at_;  // of the first line that is no comment of a table with blanks
  while (begin < bytes_.size() && bytes_[begin] == '#') {
    std::size_t after = begin;
    while (after < bytes_.size() && !is_line_end(bytes_[after])) ++after;
    while (after < bytes_.size() && is_line_end(bytes_[after])) ++after;
    begin = after;
  }
  for (std::size_t i = begin; i < bytes_.size() && (inside || !is_line_end(bytes_[i])); ++i) {
    if (bytes_[i] == '"') inside = !inside;
    if (!inside) found = std::min(found, wanted.find(static_cast<char>(bytes_[i])));
  }
  separator_ = found < wanted.size() ? wanted[found] : ',';
}

void CsvReader::append(std::string& field, int character) const {
  if (character == '\0')
    throw core::ConfigError(core::format(
        "'{}' contains a NUL byte in line {}, as text encoded in UTF-16 does: convert it to UTF-8", file_.path(), line_));
  if (field.size() == longest_field)
    throw core::ConfigError(core::format("'{}' contains a field of more than a megabyte in line {}: is it a table of text?",
                                         file_.path(), line_));
  field.push_back(static_cast<char>(character));
}

std::string CsvReader::quoted() {
  const std::size_t begin = line_;
  std::string text;
  for (take();;) {
    const int character = take();
    if (character == end)
      throw core::ConfigError(
          core::format("'{}' contains a quotation mark in line {} that is not closed", file_.path(), begin));
    if (character != '"')
      append(text, character);
    else if (peek() != '"')
      break;
    else
      append(text, take());
  }
  if (separator_ != ' ') skip_blanks();
  if (!ends_field())
    throw core::ConfigError(
        core::format("'{}' continues a field after its closing quotation mark in line {}: write a "
                     "quotation mark within a field as two",
                     file_.path(), line_));
  return text;
}

std::string CsvReader::field() {
  skip_blanks();
  if (peek() == '"') return quoted();
  std::string text;
  while (!ends_field()) append(text, take());
  trim(text);
  return text;
}

bool CsvReader::next(CsvRecord& record) {
  record.fields.clear();
  if (!skip_empty_lines()) return false;
  record.line = line_;
  for (;;) {
    if (record.fields.size() == most_fields)
      throw core::ConfigError(
          core::format("line {} of '{}' has more than {} fields: is it a table, with a sample in each line?", record.line,
                       file_.path(), most_fields));
    record.fields.push_back(field());
    if (separator_ == ' ') skip_blanks();
    if (separator_ == ' ' ? peek() == end || is_line_end(peek()) : peek() != separator_) break;
    if (separator_ != ' ') take();
  }
  return true;
}

}  // namespace paragrad::data
