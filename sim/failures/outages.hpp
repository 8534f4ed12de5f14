#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "core/philox.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// How many nodes of a cluster, or of a part of it, work while their devices fail at random times and are repaired. Keeps no
/// clock: the caller says when something happens, in ascending order.
class Outages {
 public:
  /// part: of the cluster; each has random numbers of its own. scripted_s: times at which a node is lost in any case.
  Outages(const Platform::Failures& failures, int nodes, int devices_per_node, int part = 0,
          std::vector<double> scripted_s = {});

  int working() const { return working_; }

  /// The first failure after `now_s`, if nothing else changes; or infinity. Not repeatable: each call draws, which is
  /// allowed as the time to the next failure does not depend on the time since the last one.
  double next_failure_s(double now_s);

  /// When repaired nodes may rejoin; `now_s` if they may already; infinity if none is away.
  double next_rejoin_s(double now_s) const;

  void lose_node(double now_s);
  void rejoin(double now_s);  ///< of all nodes that are repaired

  /// The nodes stop for a time that failures do not prolong; repaired nodes join at its end, which is returned. passed(t):
  /// if given, called whenever `working()` is about to change, and at the end.
  double stop(double now_s, double duration_s, const std::function<void(double)>& passed = nullptr);

  std::uint64_t lost() const { return lost_; }  ///< so far

 private:
  void take_back(double now_s);

  const Platform::Failures& failures_;
  double rate_per_node_;
  core::RandomStream random_;
  int working_;
  std::vector<double> scripted_s_;  // those to come, the next one last
  std::uint64_t draws_ = 0, lost_ = 0;
  double last_rejoin_s_;
  std::priority_queue<double, std::vector<double>, std::greater<>> repaired_s_;
};

}  // namespace paragrad::sim
