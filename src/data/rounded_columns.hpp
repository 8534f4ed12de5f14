#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace paragrad::data {

/// Rounds the numbers of a table to float32 and remembers the column that loses most by it.
class RoundedColumns {
 public:
  explicit RoundedColumns(std::size_t columns) : columns_(columns) {}

  float round(std::size_t column, double value);

  std::size_t whole_numbers_lost() const { return whole_numbers_lost_; }  ///< that float32 does not have

  /// "column 3 by up to 64, 0.4 of its standard deviation", if a column loses more than a thousandth of it; or else "".
  /// name: of a column.
  std::string loss(const std::function<std::string(std::size_t)>& name) const;

 private:
  struct Column {
    std::size_t count = 0;
    double first = 0, sum = 0, squares = 0;  // of the differences from the first number
    double lost = 0;                         // most of any number

    double deviation() const;
  };
  std::vector<Column> columns_;
  std::size_t whole_numbers_lost_ = 0;
};

}  // namespace paragrad::data
