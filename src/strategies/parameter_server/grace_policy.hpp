#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "strategies/parameter_server/policy.hpp"

namespace paragrad::strategies {

/// Keeps workers that have pushed waiting for others that finish at about the same time (the grace period of Liu et al.,
/// arXiv 2401.09135, 2024): the first push opens a window, which closes after `grace_s` or when all workers have pushed;
/// then all of them go on from the same parameters. What a push does is the other policy's.
class GracePolicy : public Policy {
 public:
  GracePolicy(std::unique_ptr<Policy> inner, int workers, double grace_s)
      : inner_(std::move(inner)), grace_s_(grace_s), workers_(static_cast<std::size_t>(workers)) {}

  bool answers(const Shard& shard, int worker, std::uint64_t version) const override {
    return !of(worker).held && inner_->answers(shard, worker, version);
  }

  bool push(comm::Communicator& comm, Shard& shard, const Push& push) override {
    deadline_s_ = std::min(deadline_s_, comm.now_s() + grace_s_);
    of(push.worker).held = true;
    const bool taken = inner_->push(comm, shard, push);
    close_if_complete();
    return taken;
  }

  void leave(comm::Communicator& comm, Shard& shard, int worker, bool permanently) override {
    of(worker).there = false;
    of(worker).lost |= permanently;
    inner_->leave(comm, shard, worker, permanently);
    close_if_complete();
  }

  void begin_epoch() override {
    for (Worker& worker : workers_) worker.there = !worker.lost;
    close();
    inner_->begin_epoch();
  }

  double deadline_s() const override { return deadline_s_; }

  void close() override {
    deadline_s_ = std::numeric_limits<double>::infinity();
    for (Worker& worker : workers_) worker.held = false;
  }

 private:
  struct Worker {
    bool held = false;  // has pushed since the window opened
    bool there = true;
    bool lost = false;
  };
  Worker& of(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  const Worker& of(int worker) const { return workers_[static_cast<std::size_t>(worker)]; }

  void close_if_complete() {
    if (std::ranges::all_of(workers_, [](const Worker& worker) { return worker.held || !worker.there; })) close();
  }

  std::unique_ptr<Policy> inner_;
  double grace_s_;
  std::vector<Worker> workers_;
  double deadline_s_ = std::numeric_limits<double>::infinity();  // infinite: no window is open
};

}  // namespace paragrad::strategies
