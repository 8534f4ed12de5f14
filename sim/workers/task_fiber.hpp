#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "comm/worker.hpp"
#include "fibers/task_queue.hpp"
#include "sim/cluster.hpp"
#include "sim/engine/timed_fiber.hpp"
#include "sim/workers/sim_communicator.hpp"

namespace paragrad::sim {

/// An additional fiber of an emulated worker: runs the communication tasks or a service, on a separate channel, or reads the
/// worker's data.
///
/// All fibers of a worker have its rank as their actor: at equal times they run in the order in which their events were
/// created. Time model: the additions of a reduction and the worker's computation do not slow each other down (as on a
/// device with an engine for each), unless workers share a device and alternate; messages share the worker's links with
/// those of comm().
class TaskFiber : public fibers::TaskQueue<Engine> {
 public:
  /// purpose: a string literal for the deadlock report. traffic: counts its messages.
  TaskFiber(Cluster& cluster, int rank, std::string_view device_name, const char* purpose,
            std::shared_ptr<comm::TrafficMeter> traffic)
      : fibers::TaskQueue<Engine>(
            cluster.engine, {purpose, rank},
            [&cluster, rank](Task body) { cluster.engine.spawn(static_cast<std::uint32_t>(rank), std::move(body)); },
            cluster.untold),
        cluster_(cluster),
        rank_(rank),
        device_name_(device_name),
        traffic_(std::move(traffic)) {}

  void launch(comm::Worker::Task task) {
    if (lane_ == nullptr) lane_ = std::make_shared<Lane>(cluster_, rank_, device_name_, traffic_);
    fibers::TaskQueue<Engine>::launch([lane = lane_, task = std::move(task)] { task(lane->communicator); });
  }

 private:
  // Its own device and communicator, for as long as a task uses them.
  struct Lane {
    Lane(Cluster& cluster, int rank, std::string_view device_name, std::shared_ptr<comm::TrafficMeter> traffic)
        : device(backend::make_device(device_name)), communicator(cluster, rank, *device, 1, std::move(traffic)) {
      device->charge_by(cluster.times.call_times());
    }

    std::unique_ptr<backend::Device> device;
    SimCommunicator communicator;
  };

  Cluster& cluster_;
  int rank_;
  std::string device_name_;
  std::shared_ptr<comm::TrafficMeter> traffic_;
  std::shared_ptr<Lane> lane_;
};

}  // namespace paragrad::sim
