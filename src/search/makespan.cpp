#include "search/makespan.hpp"

#include <algorithm>
#include <vector>

namespace paragrad::search {

double makespan(std::span<const double> durations, std::size_t groups) {
  std::vector<double> free_at(groups, 0);
  for (const double duration : durations) *std::ranges::min_element(free_at) += duration;
  return std::ranges::max(free_at);
}

}  // namespace paragrad::search
