#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/gzip_file.hpp"

namespace paragrad::data {

/// One record of a table.
struct CsvRecord {
  std::size_t line = 0;             ///< where it begins, from 1
  std::vector<std::string> fields;  ///< without quotation marks; unquoted ones without spaces and tabs around them
};

/// Reads a text table record by record: RFC 4180, with line ends CR LF, LF or CR, any separator, and lines without any
/// character skipped. A byte-order mark of UTF-8 is skipped, too. Separated by blanks, as numpy.savetxt writes tables,
/// fields have any number of spaces and tabs between them, and lines that begin with # are comments.
class CsvReader {
 public:
  /// separator: ',', ';', tab, or ' ' for blanks; '\0': what the first record contains outside quotation marks: a tab, or
  /// else a semicolon, a comma (unless decimal_comma), a space.
  CsvReader(GzipFile& file, char separator, bool decimal_comma = false);

  /// The next record; false at the end. Throws ConfigError for quotation marks that do not enclose a field, and for fields
  /// of more than a megabyte and records of more than a million fields, as in files that are no tables.
  bool next(CsvRecord& record);

  char separator() const { return separator_; }
  std::size_t comments() const { return comments_; }  ///< lines so far

 private:
  static constexpr int end = -1;
  int peek();
  int take();
  bool skip_empty_lines();
  void skip_blanks();
  bool ends_field();
  void detect_separator(bool decimal_comma);
  std::string field();
  std::string quoted();
  void append(std::string& field, int character) const;

  GzipFile& file_;
  char separator_;
  std::vector<std::uint8_t> bytes_;  // what was read and not taken begins at at_
  std::size_t at_ = 0;
  std::size_t line_ = 1, comments_ = 0;
};

}  // namespace paragrad::data
