#pragma once

#include <string>
#include <vector>

#include "data/sample_import.hpp"

namespace paragrad::data {

struct ImportCsvOptions : SampleImportOptions {
  std::string file;                    ///< plain or .gz
  std::string label;                   ///< name or number (from 1) of the column of labels; empty: the last
  std::vector<std::string> leave_out;  ///< names or numbers of columns that are neither features nor labels nor targets
  /// What becomes of a label that stands for a missing one (is_missing_value): refuse, leave-out (its record), or class.
  std::string missing_labels = "refuse";
  std::vector<std::string> targets;   ///< instead of a label: names or numbers of the columns of real-valued targets
  std::string separator = "auto";     ///< or comma, semicolon, tab, space (CsvReader)
  std::string decimal = "point";      ///< or comma
  std::string valid_from, test_from;  ///< tables of their own for these sets, with the same columns; empty: none
  std::string header =
      "auto";  ///< whether the first record names the columns: yes, no; auto: if no feature in it is a number

  void describe(core::OptionList& list);
};

/// Converts a text table to a data file (write_samples): a sample per record, its label or targets in some columns, its
/// features, numbers, in the others. Labels are numbers of classes from 0 on if all are whole numbers;
/// otherwise they are the names of the classes, which are numbered in alphabetical order, or by value if all are numbers.
/// Holds the features in memory. Throws ConfigError, with line and column, for features that are missing, no numbers, not
/// finite or too large for float32, for missing labels, labels with decimals and labels that no network can have as classes,
/// for records of different lengths, and for a validation or test table with other columns or classes; and where two
/// readings are equally likely: whether the first record names the columns, whether a column without a name is a feature,
/// and which column holds the labels.
Imported import_csv(const ImportCsvOptions& options);

}  // namespace paragrad::data
