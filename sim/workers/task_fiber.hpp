#pragma once

#include <memory>

#include "comm/worker.hpp"
#include "sim/cluster.hpp"

namespace paragrad::sim {

/// An additional fiber of an emulated worker: runs the communication tasks or a service, on a separate channel, or reads the
/// worker's data. Created at the first launch, so workers that never launch cost nothing.
///
/// All fibers of a worker have its rank as their actor: at equal times they run in the order in which their events were
/// created. Time model: the additions of a reduction and the worker's computation do not slow each other down (as on a
/// device with an engine for each), unless workers share a device and alternate; messages share the worker's links with
/// those of comm().
class TaskFiber {
 public:
  /// purpose: a string literal for the deadlock report. traffic: counts its messages.
  TaskFiber(Cluster& cluster, int rank, std::string_view device_name, const char* purpose,
            std::shared_ptr<comm::TrafficMeter> traffic)
      : cluster_(cluster), rank_(rank), device_name_(device_name), purpose_(purpose), traffic_(std::move(traffic)) {}

  void launch(comm::Worker::Task task);
  void join();
  bool occupied() const;    ///< whether join() would wait or throw
  void abandon() noexcept;  ///< lets the others catch up; then nothing runs until the error ends the worker
  void finish();            ///< joins and ends the fiber; call before the worker's own fiber ends

 private:
  struct State;  // belongs to the fiber too, which may outlive the worker when the simulation is abandoned

  Cluster& cluster_;
  int rank_;
  std::string device_name_;
  const char* purpose_;
  std::shared_ptr<comm::TrafficMeter> traffic_;
  std::shared_ptr<State> state_;
};

}  // namespace paragrad::sim
