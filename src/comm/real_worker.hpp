#pragma once

#include <utility>
#include <vector>

#include "comm/worker.hpp"

namespace paragrad::comm {

/// A worker in real time: computing is just running the task, the clock goes on by itself. Tasks run when they are joined;
/// see MpiWorker for those that run beside.
class RealWorker : public Worker {
 public:
  using Worker::Worker;
  void compute(const backend::WorkMeter&, const std::function<void()>& task) override { task(); }
  void run_kernels(const std::function<void(backend::Device&)>& kernels) override { kernels(device()); }
  void launch(Task task) override { launched_.push_back(std::move(task)); }
  void join() override {
    for (const Task& task : std::exchange(launched_, {})) task(comm());
  }
  void abandon_tasks() noexcept override { launched_.clear(); }

 private:
  std::vector<Task> launched_;
};

}  // namespace paragrad::comm
