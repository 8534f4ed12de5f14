#include "train/minibatch_search.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::train {

void MinibatchSearchOptions::describe(core::OptionList& list) {
  const auto condition = list.only_when(enabled, "needs `auto-minibatch` true", "auto-minibatch");
  list.number("minibatch-tuning-frequency", frequency, {.least = 1, .most = 1000000},
              "epochs between two searches for a larger minibatch");
  list.number("minibatch-max", largest, core::a_minibatch, "largest minibatch to try, in samples");
  list.number("minibatch-error-margin", margin_percent, core::zero_or_more,
              "percent by which a larger minibatch may increase the loss over that of the smallest size tried");
  list.number("minibatch-search-samples", samples, core::any_count,
              "samples to train on for each minibatch size tried (0: 500 minibatches)");
}

bool search_before(const MinibatchSearchOptions& options, int epoch) {
  return options.enabled && epoch > 1 && (epoch - 1) % options.frequency == 0;
}

std::vector<std::size_t> sizes_to_try(const MinibatchSearchOptions& options, std::size_t configured, std::size_t present) {
  const std::size_t smallest = std::max(configured, present / 2);
  const std::size_t largest = std::max(smallest, std::min(options.largest, 2 * present));
  std::vector<std::size_t> sizes{smallest};
  for (double size = static_cast<double>(smallest) * std::sqrt(2.0); sizes.back() < largest; size *= std::sqrt(2.0)) {
    const double grain = size < 256 ? 8 : 64;
    const auto rounded = static_cast<std::size_t>(grain * std::round(size / grain));
    if (std::min(rounded, largest) > sizes.back()) sizes.push_back(std::min(rounded, largest));
  }
  return sizes;
}

std::size_t search_minibatch(const MinibatchSearchOptions& options, const std::vector<std::size_t>& sizes,
                             const std::function<double(std::size_t)>& loss) {
  const double most = loss(sizes.front()) * (1 + options.margin_percent / 100);
  std::size_t best = sizes.front();
  for (std::size_t i = 1; i < sizes.size() && loss(sizes[i]) <= most; ++i) best = sizes[i];  // NaN is not <= anything
  return best;
}

}  // namespace paragrad::train
