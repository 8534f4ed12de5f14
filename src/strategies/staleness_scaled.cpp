#include <algorithm>

#include "strategies/async_sgd.hpp"

namespace paragrad::strategies {
namespace {

class ScalingPolicy : public Policy {
 public:
  bool push(comm::Communicator& comm, Shard& shard, const Push& push) override {
    const std::uint64_t staleness = shard.version() - push.version;
    Push scaled = push;
    scaled.step.rate /= static_cast<float>(std::max<std::uint64_t>(1, staleness));
    return Policy::push(comm, shard, scaled);
  }
};

/// Asynchronous SGD in which the server divides a gradient's learning rate by its staleness if that is above 1 (Zhang,
/// Gupta, Lian and Liu, IJCAI 2016).
class StalenessScaled : public AsyncSgd {
 public:
  using AsyncSgd::AsyncSgd;

 protected:
  std::unique_ptr<Policy> make_policy(int) const override { return std::make_unique<ScalingPolicy>(); }
};

}  // namespace

StrategyEntry staleness_scaled_entry() {
  return entry_of<StalenessScaled, PushOptions>({.name = "staleness_scaled",
                                                 .summary = "async_sgd with learning rates divided by staleness",
                                                 .source = "Zhang et al., IJCAI 2016"},
                                                Share::epoch);
}

}  // namespace paragrad::strategies
