#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "comm/allreduce.hpp"
#include "comm/worker.hpp"
#include "core/arena.hpp"
#include "python/call_checker.hpp"
#include "python/nanobind.hpp"
#include "python/python_thread.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::python {

/// A float32 array of Python's, without a copy.
using FloatArray = nanobind::ndarray<float, nanobind::c_contig, nanobind::device::cpu>;
using ConstFloatArray = nanobind::ndarray<const float, nanobind::c_contig, nanobind::device::cpu>;

/// A worker, as a strategy written in Python sees it. Python may keep it longer than the run: then its functions raise.
/// Arrays are contiguous ones of float32, writable where they are written; others are a TypeError that says what they are.
class WorkerView {
 public:
  /// name: of the strategy, for messages.
  WorkerView(std::string name, const std::string& collective, PythonThread& thread)
      : name_(std::move(name)), allreduce_(comm::make_allreduce(collective)), thread_(thread) {}

  /// Before a function of the strategy is called, and, if workers may communicate on their own afterwards, when it has
  /// returned.
  void begin(comm::Worker& worker, std::string_view function);
  void end();
  void end_run() { worker_ = nullptr; }
  comm::Worker& worker() const;

  void allreduce(nanobind::handle array);
  double sum(double value);
  void send(nanobind::handle array, int to);
  void receive(nanobind::handle array, int source);
  void exchange(nanobind::handle sent, int to, nanobind::handle received, int source);
  void scale(nanobind::handle array, float factor);
  void add(nanobind::handle array, nanobind::handle other, float factor);

  /// Throws what ended a call from Python: an error of another worker, or the end of the run. Python code sees only that
  /// there was an exception, and cannot stop it.
  bool has_failed() const { return failure_ != nullptr; }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Has the worker act, while other workers may run.
  void call(const std::function<void(comm::Worker&)>& action);

 private:
  void check_peer(int rank) const;

  std::string name_;
  comm::Worker* worker_ = nullptr;
  std::unique_ptr<comm::Allreduce> allreduce_;
  std::unique_ptr<CallChecker> checker_;  // null where it is not needed
  bool has_checker_ = false;
  PythonThread& thread_;  // outlives worker_, and is not used without it
  std::exception_ptr failure_;
};

/// A worker's replica, likewise. Its arrays may be kept, too: they have the values of the end of the run.
class ReplicaView {
 public:
  explicit ReplicaView(std::shared_ptr<WorkerView> worker) : worker_(std::move(worker)) {}

  void set_replica(strategies::Replica* replica) { replica_ = replica; }

  /// Takes the memory of arrays that Python has kept. Call it before the replica ends.
  void end_run();

  nanobind::ndarray<nanobind::numpy, float> parameters() const { return view(replica().parameters); }
  nanobind::ndarray<nanobind::numpy, float> gradient() const { return view(replica().optimiser.gradients()); }
  void set_parameters(nanobind::handle values) { set("parameters", replica().parameters, values); }
  void set_gradient(nanobind::handle values) { set("gradient", replica().optimiser.gradients(), values); }
  double learning_rate() const { return replica().learning_rate; }
  void update();
  void reset_momentum();

 private:
  struct Memory {
    core::Arena parameters, gradients;  // empty until the end of the run
  };

  strategies::Replica& replica() const;
  nanobind::ndarray<nanobind::numpy, float> view(std::span<float> values) const;
  static void set(const char* name, std::span<float> own, nanobind::handle values);

  std::shared_ptr<WorkerView> worker_;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();  // every array keeps it
  strategies::Replica* replica_ = nullptr;
};

void bind_views(nanobind::module_& module);

}  // namespace paragrad::python
