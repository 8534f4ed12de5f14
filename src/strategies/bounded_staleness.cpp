#include <algorithm>
#include <limits>

#include "strategies/async_sgd.hpp"

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

struct BoundOptions : PushOptions {
  std::size_t staleness_bound = 4;  // s

  void describe(core::OptionList& list) {
    PushOptions::describe(list);
    list.number("staleness-bound", staleness_bound, core::any_count, "maximum lead over the slowest worker, in updates");
  }
};

/// Asynchronous SGD with bounded staleness, the stale synchronous parallel model of Ho et al. (NIPS 2013): a worker that
/// requests parameters and is more than s gradients ahead of the slowest worker waits for it. s = 0 is lock step; without a
/// bound it is async_sgd. A worker that has reached the end of the epoch blocks no other worker.
class BoundedStaleness : public AsyncSgd {
 public:
  BoundedStaleness(const BoundOptions& options, const StrategyContext& context)
      : AsyncSgd(options, context), bound_(options.staleness_bound) {}

 protected:
  std::unique_ptr<Policy> make_policy(int workers) const override {
    return std::make_unique<BoundedPolicy>(workers, bound_);
  }
  bool holds_fetches() const override { return true; }

 private:
  std::size_t bound_;
};

}  // namespace

StrategyEntry bounded_staleness_entry() {
  return entry_of<BoundedStaleness, BoundOptions>(
      {.name = "bounded_staleness",
       .summary = "async_sgd with a bounded lead of the fastest workers over the slowest",
       .source = "Ho et al., NIPS 2013"},
      Share::epoch);
}

}  // namespace paragrad::strategies
