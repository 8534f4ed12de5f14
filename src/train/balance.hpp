#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "core/range.hpp"
#include "core/state_view.hpp"

namespace paragrad::train {

/// Gives fast workers more of the data: shares of a block, or of every minibatch, in proportion to the measured speeds (Chen
/// and Huo's master does so with splits). Averages weigh workers by their samples, and sums count each sample once, so the
/// result stays right; but it depends on measured times, which only the simulator repeats.
///
/// The samples of a block are loaded while the previous block is trained, so its shares follow from the speeds two blocks
/// earlier.
class Balance {
 public:
  Balance(int workers, bool enabled);

  /// Collective: this worker took `seconds` to compute `samples` of the block just trained.
  void measured(comm::Communicator& comm, double samples, double seconds);

  /// Worker `rank`'s part of [0, length). ahead: of the block after the one about to be trained.
  core::Range part_of(std::size_t length, int rank, bool ahead) const;

  void describe_state(core::StateView& state);

 private:
  bool enabled() const { return !before_.empty(); }

  std::size_t workers_;
  std::vector<double> before_;  // speeds of the workers, for the block about to be trained; none: all are equal
  std::vector<double> latest_;  // and for the one after it
};

}  // namespace paragrad::train
