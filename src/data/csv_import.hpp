#pragma once

#include <string>
#include <vector>

#include "data/sample_import.hpp"

namespace paragrad::data {

struct ImportCsvOptions : SampleImportOptions {
  std::string file;                  ///< plain or .gz
  std::string label;                 ///< name or number (from 1) of the column of labels; empty: the last
  std::vector<std::string> targets;  ///< instead of a label: names or numbers of the columns of real-valued targets
  std::string separator = "auto";    ///< or comma, semicolon, tab (CsvReader)
  std::string header =
      "auto";  ///< whether the first record names the columns: yes, no; auto: if no feature in it is a number
};

/// Converts a text table to a data file (write_samples): a sample per record, its label or targets in some columns, its
/// features, numbers with a decimal point, in the others. Labels are numbers of classes from 0 on if all are whole numbers;
/// otherwise they are the names of the classes, which are numbered in alphabetical order, or by value if all are numbers.
/// Holds the features in memory. Throws ConfigError, with line and column, for features that are missing, no numbers, not
/// finite or too large for float32, for missing labels and labels with decimals, and for records of different lengths; and
/// for a first record of which it is not clear whether it names the columns.
DatasetInfo import_csv(const ImportCsvOptions& options);

}  // namespace paragrad::data
