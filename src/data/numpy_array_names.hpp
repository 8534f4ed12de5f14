#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"
#include "data/numpy_files.hpp"

namespace paragrad::data {

/// A kind of array and what stands before or after the subset in its usual names, the first being the one in messages.
struct ArrayKind {
  std::string_view name;
  std::array<std::string_view, 2> before, after;
};
inline constexpr ArrayKind feature_arrays{"x", {"x", "X"}, {"images", "features"}},
    label_arrays{"y", {"y", "Y"}, {"labels", "targets"}}, length_arrays{"lengths", {"lengths", ""}, {"lengths", ""}};

/// Of an extra column.
constexpr ArrayKind column_arrays(std::string_view column) { return {column, {column, ""}, {column, ""}}; }

std::string usual_name(const ArrayKind& kind, Subset subset);  ///< "x_train"

/// All names under which an array is found by itself.
std::vector<std::string> usual_names(const ArrayKind& kind, Subset subset);
std::vector<std::string> usual_array_names();  ///< of all kinds and sets

/// What the arrays of a data set are called in these files.
class ArrayNames {
 public:
  /// given: "x_train=NAME" for those without a usual name. Throws ConfigError for others, and for two arrays that could be
  /// the same one. from: the files, for messages.
  ArrayNames(const std::string& from, const std::vector<std::string>& given, const NumpyFiles& files);

  /// The name of an array; empty if there is none.
  std::string of(const ArrayKind& kind, Subset subset) const;

  /// Arrays that belong to no set.
  std::vector<std::string> left_out(const NumpyFiles& files) const;

 private:
  void find(const ArrayKind& kind, Subset subset, const std::string& from, const NumpyFiles& files);

  std::map<std::string, std::string> names_;  // by the first of the usual names
};

}  // namespace paragrad::data
