#include "strategies/bounded_staleness.hpp"

#include <algorithm>
#include <limits>

namespace paragrad::strategies {
namespace {

class BoundedPolicy : public Policy {
 public:
  BoundedPolicy(int workers, std::uint64_t bound) : bound_(bound), clocks_(static_cast<std::size_t>(workers)) {}

  bool answers(const Shard&, int worker, std::uint64_t) const override {
    return clock(worker).pushes <= slowest_ || clock(worker).pushes - slowest_ <= bound_;
  }

  bool push(comm::Communicator& comm, Shard& shard, const Push& push) override {
    ++clock(push.worker).pushes;
    find_slowest();
    return Policy::push(comm, shard, push);
  }

  void leave(comm::Communicator&, Shard&, int worker, bool permanently) override {
    clock(worker).there = false;
    clock(worker).lost |= permanently;
    find_slowest();
  }

  void begin_epoch() override {
    for (Clock& clock : clocks_) clock = {.pushes = 0, .there = !clock.lost, .lost = clock.lost};
    find_slowest();
  }

 private:
  struct Clock {
    std::uint64_t pushes = 0;  // in the epoch
    bool there = true;
    bool lost = false;
  };
  Clock& clock(int worker) { return clocks_[static_cast<std::size_t>(worker)]; }
  const Clock& clock(int worker) const { return clocks_[static_cast<std::size_t>(worker)]; }

  void find_slowest() {
    slowest_ = std::numeric_limits<std::uint64_t>::max();
    for (const Clock& clock : clocks_)
      if (clock.there) slowest_ = std::min(slowest_, clock.pushes);
  }

  std::uint64_t bound_;
  std::vector<Clock> clocks_;
  std::uint64_t slowest_ = 0;
};

}  // namespace

std::unique_ptr<Policy> BoundedStaleness::make_policy(int workers) const {
  return std::make_unique<BoundedPolicy>(workers, options().staleness_bound);
}

}  // namespace paragrad::strategies
