#pragma once

#include <stdexcept>
#include <utility>
#include <vector>

#include "comm/worker.hpp"

namespace paragrad::comm {

/// A worker in real time: computing just runs the task, and the clock advances by itself. Tasks run when they are joined;
/// MpiWorker runs them concurrently.
class RealWorker : public Worker {
 public:
  explicit RealWorker(Communicator& communicator, bool serves_beside = false) : Worker(communicator, serves_beside) {}

  void compute(const backend::WorkMeter&, const std::function<void()>& task) override {
    task();
    device().finish();
  }
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override {
    kernels(device());
    device().finish();
  }
  void launch(Task task) override { launched_.push_back(std::move(task)); }
  void join() override {
    for (const Task& task : std::exchange(launched_, {})) task(task_comm());
  }
  void serve(Task task) override {
    if (service_) throw std::logic_error("a worker has one service at a time");
    service_ = std::move(task);
  }
  void join_service() override {
    if (const Task service = std::exchange(service_, nullptr)) service(task_comm());
  }
  void abandon_tasks() noexcept override {
    launched_.clear();
    service_ = nullptr;
  }

 protected:
  /// The communicator of tasks that run when they are joined.
  virtual Communicator& task_comm() { return comm(); }

 private:
  std::vector<Task> launched_;
  Task service_;
};

}  // namespace paragrad::comm
