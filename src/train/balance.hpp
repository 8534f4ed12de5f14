#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "core/range.hpp"
#include "core/state_view.hpp"

namespace paragrad::train {

/// Load balancing: gives faster workers a larger share of each block, or of every minibatch, in proportion to their measured
/// speeds (as Chen and Huo's master does with splits). Averages weight workers by their samples, and sums count each sample
/// once, so results stay correct; but they depend on measured times, which only the simulator reproduces.
///
/// A block's samples are loaded while the previous block is trained, so its shares follow from the speeds two blocks
/// earlier.
class Balance {
 public:
  Balance(int workers, bool enabled);

  /// Collective. Reports that this worker took `seconds` to compute `samples` of the block just trained.
  void measured(comm::Communicator& comm, double samples, double seconds);

  /// Worker `rank`'s part of [0, length). ahead: for the block after the one about to be trained.
  core::Range part_of(std::size_t length, int rank, bool ahead) const;

  void describe_state(core::StateView& state);

 private:
  bool enabled() const { return !before_.empty(); }

  std::size_t workers_;
  std::vector<double> before_;  // speeds of the workers, for the block about to be trained; empty: equal shares
  std::vector<double> latest_;  // and for the block after it
};

}  // namespace paragrad::train
