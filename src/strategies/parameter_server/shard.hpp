#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "core/layout.hpp"
#include "optim/local_optimiser.hpp"

namespace paragrad::strategies {

/// Cuts the parameters into `count` about equal parts at column borders; a part may be empty.
std::vector<core::Range> cut_into_shards(std::span<const core::Matrix> layout, std::size_t parameters, std::size_t count);

/// A part of the parameters at its server, with its optimiser. Its version is the number of updates.
class Shard {
 public:
  /// layout: of the part, positions from 0. memory: for the parameters; empty: allocates its own. Throws ConfigError:
  /// unknown optimiser.
  Shard(backend::Device& device, const optim::OptimiserOptions& rule, std::vector<core::Matrix> layout,
        std::size_t parameters, std::span<float> memory = {});

  std::span<float> parameters() { return parameters_; }
  std::span<float> gradient() { return rule_->gradients(); }  ///< buffer for the next one
  std::uint64_t version() const { return static_cast<std::uint64_t>(updates_); }

  /// Updates the parameters with gradient(), on the communicator's device.
  void apply(comm::Communicator& comm, const optim::Step& step);

  /// Swaps gradient() with `other`, which has the same length.
  void swap_gradient(core::Arena& other) { rule_->swap_gradients(other); }

  /// Takes over the state of a rule for all parameters, of which the shard's are `range`. Numbers and arrays that its own
  /// rule does not have are left out.
  void take_over(const core::StateView& whole, core::Range range, backend::Device& device);

  void describe_state(core::StateView& state);

 private:
  std::vector<core::Matrix> layout_;
  core::Arena own_;
  std::span<float> parameters_;
  std::unique_ptr<optim::LocalOptimiser> rule_;
  double updates_ = 0;  // a double, for the StateView
};

}  // namespace paragrad::strategies
