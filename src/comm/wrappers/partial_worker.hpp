#pragma once

#include <utility>

#include "comm/worker.hpp"

namespace paragrad::comm {

/// A worker with only some of the peers of another worker, to which it delegates computing and launching. Launched
/// tasks and services run in the other worker's one order, and communicate with the same peers as this worker.
class PartialWorker : public Worker {
 public:
  /// peers: this worker's communicator, built on that of `all`.
  PartialWorker(Communicator& peers, Worker& all) : Worker(peers, all), all_(all) {}

  void compute(const backend::WorkMeter& expected, const std::function<void()>& task) override {
    all_.compute(expected, task);
  }
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override { all_.run_kernels(kernels); }
  void launch(Task task) override { all_.launch(among_peers(std::move(task))); }
  void join() override { all_.join(); }
  void serve(Task task) override { all_.serve(among_peers(std::move(task))); }
  void join_service() override { all_.join_service(); }
  bool attempt(Task task, double limit_s) override { return all_.attempt(among_peers(std::move(task)), limit_s); }
  void abandon_tasks() noexcept override { all_.abandon_tasks(); }

 private:
  /// Wraps the task so that it gets a communicator restricted to this worker's peers.
  virtual Task among_peers(Task task) const = 0;

  Worker& all_;
};

}  // namespace paragrad::comm
