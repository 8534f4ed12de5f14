#pragma once

#include <memory>
#include <string_view>

#include "comm/worker.hpp"
#include "fibers/task_queue.hpp"
#include "hosting/hosted_communicator.hpp"

namespace paragrad::hosting {

/// A worker that shares its process with others.
class HostedWorker : public comm::Worker {
 public:
  explicit HostedWorker(HostedCommunicator& communicator);

  void compute(const backend::WorkMeter& expected, const std::function<void()>& task) override;
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override;
  void launch(Task task) override;
  void join() override { tasks_.fiber.join(); }
  void serve(Task task) override;
  void join_service() override { service_.fiber.join(); }
  void abandon_tasks() noexcept override;

  void finish();  ///< the last call

 private:
  /// An additional fiber, with a device and a communicator on the second channel from its first task on.
  struct Lane {
    struct Place;

    Lane(HostedCommunicator& communicator, const char* purpose, std::shared_ptr<comm::TrafficMeter> traffic);
    void launch(Task task);
    void abandon() noexcept;

    Host& host;
    int rank;
    std::shared_ptr<comm::TrafficMeter> traffic_meter;
    std::shared_ptr<Place> place;
    fibers::TaskQueue<Scheduler> fiber;
  };

  HostedCommunicator& communicator_;
  Lane tasks_;
  Lane service_;
  bool computing_ = false;
};

}  // namespace paragrad::hosting
