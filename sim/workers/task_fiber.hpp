#pragma once

#include <memory>

#include "comm/worker.hpp"
#include "sim/world.hpp"

namespace paragrad::sim {

/// Another fiber of an emulated worker: it runs the communication tasks, or a service beside them, over a channel of their
/// own, or reads the worker's data. Made at the first launch, so workers that never launch cost nothing.
///
/// All fibers of a worker carry its rank as their actor: at equal times they run in the order in which their events were
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
  bool occupied() const;    ///< whether there is something that join() would wait for or throw
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
