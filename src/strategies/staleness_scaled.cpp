#include "strategies/staleness_scaled.hpp"

#include <algorithm>

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

}  // namespace

std::unique_ptr<Policy> StalenessScaled::make_policy(int) const { return std::make_unique<ScalingPolicy>(); }

}  // namespace paragrad::strategies
