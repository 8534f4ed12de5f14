#include <algorithm>

#include "core/arena.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "strategies/async_sgd.hpp"

namespace paragrad::strategies {
namespace {

class QuorumPolicy : public Policy {
 public:
  QuorumPolicy(int workers, int backup, optim::MomentumUnit momentum)
      : wanted_(workers - backup), workers_(workers), there_(workers), momentum_(momentum) {}

  /// No worker computes with the same version twice.
  bool answers(const Shard& shard, int, std::uint64_t version) const override { return shard.version() > version; }

  bool push(comm::Communicator& comm, Shard& shard, const Push& push) override {
    if (push.version < shard.version()) return false;
    if (count_++ == 0) {
      if (sum_.size() != shard.gradient().size()) sum_ = comm.device().allocate(shard.gradient().size());
      shard.swap_gradient(sum_);
      step_ = push.step;
    } else {
      comm.add(shard.gradient(), sum_.span());
      step_ = optim::joined(step_, push.step, momentum_);
    }
    update_if_enough(comm, shard);
    return true;
  }

  void leave(comm::Communicator& comm, Shard& shard, int, bool permanently) override {
    --there_;
    if (permanently) --workers_;
    update_if_enough(comm, shard);
  }

  void begin_epoch() override { there_ = workers_; }

 private:
  void update_if_enough(comm::Communicator& comm, Shard& shard) {
    if (count_ == 0 || count_ < std::min(wanted_, there_)) return;
    shard.swap_gradient(sum_);
    shard.apply(comm, step_);
    count_ = 0;
  }

  int wanted_;
  int workers_;  // not lost
  int there_;    // of these, not yet at the end of the epoch
  optim::MomentumUnit momentum_;
  int count_ = 0;
  core::Arena sum_;
  optim::Step step_;
};

struct BackupOptions : ServerOptions {
  int backup_workers = 1;  // b

  void describe(core::OptionList& list) {
    ServerOptions::describe(list);
    list.number("backup-workers", backup_workers, {.least = 0, .most = 1000000},
                "number of slowest workers whose gradients each update ignores");
  }
};

/// Synchronous SGD with backup workers (Chen, Pan, Monga, Bengio and Jozefowicz, arXiv 1604.00981, 2016): for each version
/// of the parameters, the first N - b gradients to arrive are summed in order of arrival and make one update of all their
/// samples; later ones are dropped. So no update waits for the b slowest workers.
///
/// The same gradients must count for all parameters, so one server holds them all: with one server (servers = 1) a dedicated
/// rank, otherwise that of worker 0. Near the end of an epoch, when fewer than N - b workers are left, all of these count.
class BackupWorkers : public AsyncSgd {
 public:
  BackupWorkers(const BackupOptions& options, const StrategyContext& context)
      : AsyncSgd(PushOptions{options}, context), backup_(options.backup_workers) {}

 protected:
  std::unique_ptr<Policy> make_policy(int workers) const override {
    return std::make_unique<QuorumPolicy>(workers, backup_, momentum_unit());
  }
  bool holds_fetches() const override { return true; }
  std::size_t shards(int) const override { return 1; }
  void check(int workers) const override;

 private:
  int backup_;  // b
};

void BackupWorkers::check(int workers) const {
  if (backup_ >= workers)
    throw core::ConfigError(
        core::format("{} backup workers of {} leave no worker to wait for: give fewer", backup_, workers));
  if (servers() > 1)
    throw core::ConfigError(
        core::format("backup_workers sums whole gradients at one server, not parts at {}: use 1 server or none", servers()));
}

}  // namespace

StrategyEntry backup_workers_entry() {
  return entry_of<BackupWorkers, BackupOptions>({.name = "backup_workers",
                                                 .summary = "synchronous updates from the first N - b gradients",
                                                 .source = "Chen et al., 2016"},
                                                Share::epoch);
}

}  // namespace paragrad::strategies
