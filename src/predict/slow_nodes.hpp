#pragma once

#include <set>
#include <string>
#include <vector>

namespace paragrad::predict {

/// A measurement next to what it should be.
struct Comparison {
  std::set<std::string> hosts;  ///< that it ran on, if they are known
  int nodes = 1;
  double ratio = 1;  ///< of its time to that which it should take
};

double median_ratio(const std::vector<Comparison>& all);  ///< 1 if there is none

/// A sentence, if all measurements, which are of one kind, are either slow (by more than `limit`) or not (by less than its
/// root), and nodes that only the slow ones use would explain it; or else "".
std::string explain_by_nodes(const std::vector<Comparison>& all, double limit);

}  // namespace paragrad::predict
