#include "data/rounded_columns.hpp"

#include <algorithm>
#include <cmath>

#include "core/format.hpp"

namespace paragrad::data {

float RoundedColumns::round(std::size_t column, double value) {
  const auto rounded = static_cast<float>(value);
  Column& mine = columns_[column];
  if (mine.count++ == 0) mine.first = value;
  const double difference = value - mine.first;
  mine.sum += difference;
  mine.squares += difference * difference;
  whole_numbers_lost_ += std::floor(value) == value && static_cast<double>(rounded) != value;
  mine.lost = std::max(mine.lost, std::abs(value - static_cast<double>(rounded)));
  return rounded;
}

double RoundedColumns::Column::deviation() const {
  const double n = static_cast<double>(count), mean = sum / n;
  return std::sqrt(std::max(squares / n - mean * mean, 0.));
}

std::string RoundedColumns::loss(const std::function<std::string(std::size_t)>& name) const {
  double worst = 1e-3;
  std::string text;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const double deviation = columns_[c].deviation(), share = columns_[c].lost / deviation;
    if (!(deviation > 0 && share > worst)) continue;
    worst = share;
    text = core::format("{} by up to {:.3g}, {:.2g} of its standard deviation", name(c), columns_[c].lost, share);
  }
  return text;
}

}  // namespace paragrad::data
