#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/sample_import.hpp"

namespace paragrad::data {

/// Labels that are texts, and what they say. Each gets a number in the order of appearance, and classes when all are known.
class TextLabels {
 public:
  /// The label of a record in this line, and its value if it is a number. Returns its number; nothing for a label that no
  /// record had before close().
  std::optional<std::int32_t> add(const std::string& text, std::size_t line, std::optional<double> value);

  /// The training table has ended: there are no other classes.
  void close() { closed_ = true; }

  /// The first label if it occurs nowhere else, as the name of a column does, and is a text, or the only number among texts;
  /// otherwise null.
  const std::string* unlike_others() const;

  /// Replaces the numbers of labels by their classes in all sets; sets classes and class_names. Throws ConfigError for
  /// labels that cannot be classes of the table in the file `path`.
  void to_classes(const std::string& path, DatasetInfo& info, ImportedSubsets& subsets) const;

  std::vector<std::string> texts() const;  ///< in alphabetical order

 private:
  struct Label {
    std::int32_t number;  // by first appearance
    std::size_t line;     // of it
    std::optional<double> value;
    std::size_t count = 0;
  };
  using Found = std::map<std::string, Label>;  // alphabetically

  std::vector<std::int32_t> class_of_each(DatasetInfo& info) const;
  static bool is_class(const std::optional<double>& value);
  bool all_numbers() const;
  void check(const std::string& path) const;

  Found found_;
  std::size_t records_ = 0;
  bool closed_ = false;
};

}  // namespace paragrad::data
