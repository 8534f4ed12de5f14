#include "train/ensemble.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::train {

void Ensemble::add(std::span<const float> log_posteriors) {
  if (networks_ == 0) sums_.assign(log_posteriors.size(), 0);
  if (sums_.size() != log_posteriors.size()) throw std::logic_error("Ensemble: networks with other rows or classes");
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += std::exp(static_cast<double>(log_posteriors[i]));
  networks_ += 1;
}

Score Ensemble::score(const data::Dataset& dataset, data::Subset subset) const {
  const std::size_t classes = dataset.info().classes, rows = sums_.size() / classes;
  if (rows == 0)
    throw core::ConfigError(core::format("'{}' has no samples in this subset: choose another", dataset.info().path));
  const std::span<const float> weights = dataset.columns(subset).weights;
  Score sums;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto here = std::span(sums_).subspan(row * classes, classes);
    const auto label = static_cast<std::size_t>(dataset.label(subset, row));
    sums.loss -= (weights.empty() ? 1.0 : weights[row]) * std::log(here[label] / networks_);
    sums.error += std::ranges::max_element(here) - here.begin() != static_cast<std::ptrdiff_t>(label);
  }
  return {sums.loss / static_cast<double>(rows), sums.error / static_cast<double>(rows)};
}

}  // namespace paragrad::train
