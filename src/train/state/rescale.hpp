#pragma once

#include <functional>

#include "core/state_view.hpp"
#include "train/state/saved_state.hpp"

namespace paragrad::train {

/// How the workers' state is made from that of another number of workers.
struct WorkerChange {
  int before = 1, now = 1;  ///< numbers of workers
  int rank = 0;             ///< of this worker, in `now`
};

/// This worker's state, made from the states of all workers before by the rule of each part (core::Rescale). Means and
/// sums are added up in double precision, in the order of the workers; a mean of equal values is that value.
///
/// wanted: the state to be restored. read: the state of a worker before; called once for each, in order.
/// Throws ConfigError: a part without a rule, or one that only some number of workers has.
///
/// Cost: each worker reads the states of all workers before, one at a time; 8 bytes per element of memory.
SavedState rescaled(const core::StateView& wanted, const WorkerChange& change,
                    const std::function<SavedState(int worker)>& read);

/// What rescaled() does with the arrays of a state, in lines to print.
std::vector<std::string> rules_of(const core::StateView& state);

}  // namespace paragrad::train
