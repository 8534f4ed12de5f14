#include "predict/slow_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/format.hpp"
#include "core/join.hpp"
#include "core/printable.hpp"

namespace paragrad::predict {
namespace {

std::string sentence(const std::set<std::string>& suspects, double ratio) {
  const bool is_one = suspects.size() == 1;
  return core::format("{} slow: what uses {} takes {:.2g} times as long as it should, and nothing else does",
                      is_one ? core::format("node {} is", *suspects.begin())
                             : core::format("some of the nodes {} are", core::join(suspects, ", ")),
                      is_one ? "it" : "one of them", ratio);
}

}  // namespace

double median_ratio(const std::vector<Comparison>& all) {
  if (all.empty()) return 1;
  std::vector<double> ratios;
  for (const Comparison& one : all) ratios.push_back(one.ratio);
  std::ranges::sort(ratios);
  return ratios[ratios.size() / 2];
}

std::string explain_by_nodes(const std::vector<Comparison>& all, double limit) {
  std::vector<Comparison> slow;
  std::map<std::string, int> fine_on;  // of a host, the most nodes of a measurement that is not slow
  int most_fine = 0, least_slow = std::numeric_limits<int>::max();
  for (const Comparison& one : all) {
    if (one.ratio > limit) {
      slow.push_back(one);
      least_slow = std::min(least_slow, one.nodes);
    } else if (one.ratio < std::sqrt(limit)) {
      for (const std::string& host : one.hosts) fine_on[host] = std::max(fine_on[host], one.nodes);
      most_fine = std::max(most_fine, one.nodes);
    } else {
      return "";
    }
  }
  if (slow.empty() || slow.size() == all.size()) return "";
  const double ratio = median_ratio(slow);
  std::set<std::string> suspects;
  bool each_has_one = true;
  for (Comparison& one : slow) {
    // A node that computes well alone may communicate badly.
    std::erase_if(one.hosts, [&](const std::string& host) { return fine_on[host] >= std::min(one.nodes, 2); });
    each_has_one = each_has_one && !one.hosts.empty();
    for (const std::string& host : one.hosts) suspects.insert(core::printable(host));
  }
  if (each_has_one) return sentence(suspects, ratio);
  if (most_fine < 2 || least_slow <= most_fine) return "";
  return core::format(
      "a node that only the larger runs use is slow, or its link is: runs on up to {} nodes take as long as they should, "
      "runs "
      "on {} or more take {:.2g} times as long",
      most_fine, least_slow, ratio);
}

}  // namespace paragrad::predict
