#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "core/layout.hpp"
#include "optim/local_optimiser.hpp"

namespace paragrad::strategies {

/// The parameters are cut into `count` parts, about equal, at borders of columns; a part may be empty.
std::vector<core::Range> cut_into_shards(std::span<const core::Matrix> layout, std::size_t parameters, std::size_t count);

/// A part of the parameters at its server, and the rule by which gradients move it. Its version is the number of updates.
class Shard {
 public:
  /// layout: of the part, from 0. memory: for the parameters; nothing: of its own. Throws ConfigError: a rule that does not
  /// exist.
  Shard(backend::Device& device, const optim::OptimiserOptions& rule, std::vector<core::Matrix> layout,
        std::size_t parameters, std::span<float> memory = {});

  std::span<float> parameters() { return parameters_; }
  std::span<float> gradient() { return rule_->gradients(); }  ///< where the next one is put
  std::uint64_t version() const { return static_cast<std::uint64_t>(updates_); }

  /// Moves the parameters by gradient(), on the communicator's device.
  void apply(comm::Communicator& comm, const optim::Step& step);

  /// gradient() becomes what `other` was, and the other way round; both are as long.
  void swap_gradient(core::Arena& other) { rule_->swap_gradients(other); }

  void describe_state(core::StateView& state);

 private:
  std::vector<core::Matrix> layout_;
  core::Arena own_;
  std::span<float> parameters_;
  std::unique_ptr<optim::LocalOptimiser> rule_;
  double updates_ = 0;  // a number that a StateView can hold
};

}  // namespace paragrad::strategies
