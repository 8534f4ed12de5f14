#include "sim/workers/task_fiber.hpp"

#include <deque>
#include <exception>
#include <utility>

#include "sim/workers/sim_communicator.hpp"

namespace paragrad::sim {

struct TaskFiber::State {
  State(Cluster& cluster_, int rank_, std::string_view device_name, std::shared_ptr<comm::TrafficMeter> traffic)
      : cluster(cluster_),
        engine(cluster.engine),
        rank(rank_),
        device(backend::make_device(device_name)),
        communicator(cluster, rank_, *device, 1, std::move(traffic)) {
    device->charge_by(cluster.call_times);
  }

  Cluster& cluster;
  Engine& engine;
  int rank;
  std::unique_ptr<backend::Device> device;
  SimCommunicator communicator;
  std::deque<comm::Worker::Task> tasks;
  bool busy = false;
  bool closing = false;
  std::exception_ptr error;
  Fiber* idle = nullptr;     // the fiber of the tasks, if it has none
  Fiber* joining = nullptr;  // the worker's own fiber, if it waits for the tasks

  void wake(Fiber*& fiber) {
    if (fiber != nullptr) engine.wake(*std::exchange(fiber, nullptr));
  }

  void work() {
    while (true) {
      while (tasks.empty()) {
        wake(joining);
        if (closing) return;
        idle = &engine.current();
        engine.block({});
      }
      run(std::exchange(tasks.front(), nullptr));
    }
  }

  void run(const comm::Worker::Task& task) {
    tasks.pop_front();
    busy = true;
    try {
      task(communicator);
    } catch (const std::exception&) {  // and not what unwinds an abandoned fiber
      if (!error) error = std::current_exception();
      if (!cluster.untold) cluster.untold = error;
      tasks.clear();
    }
    engine.settle();
    busy = false;
  }
};

void TaskFiber::launch(comm::Worker::Task task) {
  cluster_.engine.settle();
  const bool first = state_ == nullptr;
  if (first) state_ = std::make_shared<State>(cluster_, rank_, device_name_, traffic_);
  state_->tasks.push_back(std::move(task));
  if (first)
    cluster_.engine.spawn(static_cast<std::uint32_t>(rank_), [state = state_] { state->work(); });
  else
    state_->wake(state_->idle);
}

void TaskFiber::join() {
  if (state_ == nullptr) return;
  cluster_.engine.settle();
  while (state_->busy || !state_->tasks.empty()) {
    state_->joining = &cluster_.engine.current();
    cluster_.engine.block({purpose_, rank_});
  }
  if (const std::exception_ptr error = std::exchange(state_->error, nullptr)) {
    if (cluster_.untold == error) cluster_.untold = nullptr;
    std::rethrow_exception(error);
  }
}

bool TaskFiber::occupied() const {
  return state_ != nullptr && (state_->busy || !state_->tasks.empty() || state_->error != nullptr);
}

void TaskFiber::abandon() noexcept {
  if (state_ == nullptr) return;
  cluster_.engine.settle_unwinding();  // until then tasks continue, and their memory must exist
  state_->tasks.clear();
}

void TaskFiber::finish() {
  join();
  if (state_ == nullptr) return;
  state_->closing = true;
  state_->wake(state_->idle);
}

}  // namespace paragrad::sim
