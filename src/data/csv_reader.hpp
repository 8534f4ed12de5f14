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
/// character skipped. A byte-order mark of UTF-8 is skipped, too.
class CsvReader {
 public:
  /// separator: ',', ';' or tab; '\0': a tab if the first record contains one outside quotation marks, otherwise a
  /// semicolon if it does, otherwise a comma.
  CsvReader(GzipFile& file, char separator);

  /// The next record; false at the end. Throws ConfigError for quotation marks that do not enclose a field, and for fields
  /// of more than a megabyte and records of more than a million fields, as in files that are no tables.
  bool next(CsvRecord& record);

 private:
  static constexpr int end = -1;
  int peek();
  int take();
  bool skip_empty_lines();
  void detect_separator();
  std::string field();
  std::string quoted();
  void append(std::string& field, int character) const;

  GzipFile& file_;
  char separator_;
  std::vector<std::uint8_t> bytes_;  // what was read and not taken begins at at_
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace paragrad::data
