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

CsvReader::CsvReader(GzipFile& file, char separator) : file_(file), separator_(separator) {
  peek();
  constexpr std::array<std::uint8_t, 3> mark{0xef, 0xbb, 0xbf};
  if (bytes_.size() >= mark.size() && std::equal(mark.begin(), mark.end(), bytes_.begin())) at_ = mark.size();
  if (bytes_.size() >= 2 && std::min(bytes_[0], bytes_[1]) == 0xfe && std::max(bytes_[0], bytes_[1]) == 0xff)
    throw core::ConfigError(core::format("'{}' is encoded in UTF-16: convert it to UTF-8", file_.path()));
  if (separator_ == '\0') detect_separator();
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

bool CsvReader::skip_empty_lines() {
  while (is_line_end(peek())) take();
  return peek() != end;
}

/// Looks at no more than the first chunk of the file.
void CsvReader::detect_separator() {
  if (!skip_empty_lines()) return;
  bool inside = false, tab = false, semicolon = false;
  for (std::size_t i = at_; i < bytes_.size() && (inside || !is_line_end(bytes_[i])); ++i) {
    if (bytes_[i] == '"') inside = !inside;
    tab = tab || (!inside && bytes_[i] == '\t');
    semicolon = semicolon || (!inside && bytes_[i] == ';');
  }
  separator_ = tab ? '\t' : semicolon ? ';' : ',';
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
  while (peek() == ' ') take();
  if (peek() != separator_ && peek() != end && !is_line_end(peek()))
    throw core::ConfigError(
        core::format("'{}' continues a field after its closing quotation mark in line {}: write a "
                     "quotation mark within a field as two",
                     file_.path(), line_));
  return text;
}

std::string CsvReader::field() {
  while (peek() == ' ') take();
  if (peek() == '"') return quoted();
  std::string text;
  while (peek() != separator_ && peek() != end && !is_line_end(peek())) append(text, take());
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
    if (peek() != separator_) break;
    take();
  }
  return true;
}

}  // namespace paragrad::data
