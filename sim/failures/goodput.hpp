#pragma once

#include <cstdint>
#include <optional>

#include "sim/platform.hpp"

namespace paragrad::sim {

/// What became of the time of all devices, as fractions that add up to 1.
struct Goodput {
  double useful = 0;   ///< work that was kept
  double lost = 0;     ///< work since the last saved state, done again after a failure
  double saving = 0;   ///< state being saved
  double stopped = 0;  ///< devices that wait while their group restarts or takes nodes back
  double absent = 0;   ///< nodes under repair, and repaired ones that have not rejoined

  std::optional<double> save_every_s;  ///< work between two saved states; nothing if no work can be lost
  double standard_error = 0;           ///< of `useful`, from parts of the simulated time
  std::uint64_t failures = 0;          ///< simulated
  double time_between_failures_s = 0;  ///< of the platform, while all its devices work
};

/// Simulates a training that never ends, under a platform's failures, failure by failure and without training anything.
///
/// The nodes form `groups` that fail independently and do not wait for each other, like the learners of Decoupled DiLoCo
/// (Douillard et al., arXiv:2604.21428, 2026); one group is synchronous training. Devices fail at random times
/// (exponential). The group of a failed device stops for `restart_s` and goes on without the node. The node is repaired
/// `repair_s` after the failure; then it rejoins, for which its group stops for `rejoin_s`, not more often than every
/// `rejoin_every_s`. A failure during a stop does not prolong it, and a node that is repaired during a stop joins at its
/// end. Unless other devices hold the state, the work since it was last saved is lost at each failure, and nodes rejoin when
/// it has been saved.
///
/// failures: how many to simulate, in all groups. Cost: 0.1 µs per failure and the logarithm of the nodes under repair.
/// Throws ConfigError if there are fewer nodes than groups.
Goodput simulate_goodput(const Platform::Failures& failures, int nodes, int devices_per_node, int groups,
                         std::uint64_t failures_to_simulate);

/// The same to first order, for failures that are rare compared with the stops: (1 - save / interval) (1 - lost) /
/// (1 + rate (restart + rejoin)), with half an interval lost at each failure.
double first_order_goodput(const Platform::Failures& failures, int nodes, int devices_per_node, int groups);

/// How long to work between two saved states: Daly's estimate (FGCS 22(3), 2006, eq. 37), whose first term is Young's (CACM
/// 17(9), 1974). save_s: to save a state. mtbf_s: between failures of what has to go back to it.
double interval_between_states_s(double save_s, double mtbf_s);

}  // namespace paragrad::sim
