#pragma once

#include <memory>

#include "comm/worker.hpp"
#include "sim/world.hpp"

namespace paragrad::sim {

/// Another fiber of an emulated worker, which runs its communication tasks over a channel of its own, or reads its data.
/// Made at the first launch, so workers that never launch cost nothing.
///
/// Both fibers of a worker carry its rank as their actor: at equal times they run in the order in which their events were
/// made. Model of time: the additions of a reduction take as long as they would alone, and slow the worker's computing as
/// little as it slows them (a device with an engine for each), except where workers share a device and take turns; messages
/// share the worker's links with those of comm().
class TaskFiber {
 public:
  /// purpose: a literal, for the report of a deadlock.
  TaskFiber(World& world, int rank, std::string_view device_name, const char* purpose)
      : world_(world), rank_(rank), device_name_(device_name), purpose_(purpose) {}

  void launch(comm::Worker::Task task);
  void join();
  void abandon() noexcept;  ///< lets the others catch up; from then on nothing runs until the error ends the worker
  void finish();            ///< joins and ends the fiber; to be called before the worker's own fiber ends

 private:
  struct State;  // belongs to the fiber too, which may outlive the worker when the simulation is abandoned

  World& world_;
  int rank_;
  std::string device_name_;
  const char* purpose_;
  std::shared_ptr<State> state_;
};

}  // namespace paragrad::sim
