#include "strategies/backup_workers.hpp"

#include <algorithm>

#include "core/arena.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::strategies {
namespace {

class QuorumPolicy : public Policy {
 public:
  QuorumPolicy(int workers, int backup) : wanted_(workers - backup), workers_(workers), there_(workers) {}

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
      step_.samples += push.step.samples;
      step_.decay += push.step.decay;
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
  int count_ = 0;
  core::Arena sum_;
  optim::Step step_;
};

}  // namespace

BackupWorkers::BackupWorkers(const StrategyOptions& options) : AsyncSgd(options) {
  if (options.server.backup_workers < 0)
    throw core::ConfigError(
        core::format("the number of backup workers, {}, must be 0 or more", options.server.backup_workers));
}

void BackupWorkers::check(int workers) const {
  if (options().backup_workers >= workers)
    throw core::ConfigError(
        core::format("{} backup workers of {} leave no worker to wait for: give fewer", options().backup_workers, workers));
  if (options().servers > 1)
    throw core::ConfigError(
        core::format("backup_workers sums whole gradients at one server, not parts at {}: give --servers 1 or leave it out",
                     options().servers));
  if (options().prefetch || options().fetch_every != 1 || options().push_every != 1)
    throw core::ConfigError(
        "backup_workers pushes every gradient and waits for the update: leave out --prefetch, --push-every and "
        "--fetch-every");
}

std::unique_ptr<Policy> BackupWorkers::make_policy(int workers) const {
  return std::make_unique<QuorumPolicy>(workers, options().backup_workers);
}

}  // namespace paragrad::strategies
