#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/rounded_columns.hpp"
#include "data/writer.hpp"

namespace paragrad::data {

/// A data file that was imported, and what people should know about the import.
struct Imported : DatasetInfo {
  std::vector<std::string> taken;     ///< what was read as what: "label: column 'species'"
  std::vector<std::string> warnings;  ///< what is probably not meant, such as files that were left out; a sentence each
};

/// Finishes the file and reports what concerns every import: form and range of the features, the classes and their sizes;
/// and a warning if there is only one class, if most classes have no training sample, or if most samples have a class of
/// their own. imported: its taken and warnings are kept.
Imported finish_import(DatasetWriter& writer, Imported imported);

/// "feature 3", "feature length"
std::string feature(const Imported& imported, std::size_t index);

/// Adds warnings of features and targets that lost much when they were rounded to float32. target: "target 2".
void warn_of_rounding(Imported& imported, const RoundedColumns& features, const RoundedColumns& targets,
                      const std::function<std::string(std::size_t)>& target);

/// "1 file", "3 files"
std::string several(std::size_t count, const std::string& what);

/// "a, b, c and 7 more"
std::string some_of(const std::vector<std::string>& names);

/// "3 .bmp, 1 .gif"
std::string counted(const std::map<std::string, std::size_t>& counts);

/// Throws ConfigError for more classes than a network can have outputs. largest: where the label that makes them so many is,
/// "the label 1700000000 in line 3". instead: what to do.
void check_number_of_classes(std::size_t classes, const std::string& largest, const std::string& instead);

}  // namespace paragrad::data
