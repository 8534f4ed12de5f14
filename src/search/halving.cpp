#include "search/halving.hpp"

#include <algorithm>
#include <cmath>

namespace paragrad::search {

std::vector<std::size_t> survivors(std::span<const double> scores, double keep) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!std::isnan(scores[i])) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scores[i]; });
  const auto most = static_cast<std::size_t>(std::ceil(keep * static_cast<double>(scores.size())));
  order.resize(std::min(order.size(), most));
  return order;
}

}  // namespace paragrad::search
