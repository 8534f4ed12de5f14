#include "search/halving.hpp"

#include <algorithm>
#include <cmath>

#include "core/share_of.hpp"

namespace paragrad::search {

std::vector<std::size_t> survivors(std::span<const double> scores, double keep) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!std::isnan(scores[i])) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scores[i]; });
  order.resize(std::min(order.size(), core::share_of(keep, scores.size())));
  return order;
}

}  // namespace paragrad::search
