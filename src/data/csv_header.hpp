#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paragrad::data {

/// Whether a text stands for a value that is missing, as pandas, R and the UCI repository write it: NA, ?, null, - and
/// others.
bool is_missing_value(std::string_view text);

/// Whether these numbers, two or more, rise by equal steps, as 0, 1, 2 or 2019, 2020, 2021 do where they name columns. Two
/// numbers only do if they are 0 and 1.
bool count_up(std::span<const double> numbers);

/// Whether the first row of a table [rows][columns], of two columns or more and five rows or more, lies in each column far
/// from all others, as names of columns that are numbers do.
template <class T>
bool first_row_stands_apart(const std::vector<T>& table, std::size_t columns) {
  if (columns < 2 || table.size() < 5 * columns) return false;
  for (std::size_t c = 0; c < columns; ++c) {
    double least = table[columns + c], most = least;
    for (std::size_t i = columns + c; i < table.size(); i += columns) {
      least = std::min(least, static_cast<double>(table[i]));
      most = std::max(most, static_cast<double>(table[i]));
    }
    const double far = 3 * (most - least);
    if (table[c] >= least - far && table[c] <= most + far) return false;
  }
  return true;
}

/// The column, from 0, whose name says that it holds labels: label, class, target or y in any case; names.size() if there is
/// none.
std::size_t column_of_labels(const std::vector<std::string>& names);

}  // namespace paragrad::data
