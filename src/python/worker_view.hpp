#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "comm/allreduce.hpp"
#include "comm/worker.hpp"
#include "python/nanobind.hpp"
#include "python/python_thread.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::python {

/// A float32 array of Python's, without a copy.
using FloatArray = nanobind::ndarray<float, nanobind::c_contig, nanobind::device::cpu>;

/// A worker, as a strategy written in Python sees it. Python may keep it longer than the run: then its functions raise.
class WorkerView {
 public:
  WorkerView(const std::string& collective, PythonThread& thread)
      : allreduce_(comm::make_allreduce(collective)), thread_(thread) {}

  void set_worker(comm::Worker* worker) { worker_ = worker; }
  comm::Worker& worker() const;

  void allreduce(FloatArray array);
  double sum(double value);
  void send(FloatArray array, int to);
  void receive(FloatArray array, int source);
  void exchange(FloatArray sent, int to, FloatArray received, int source);
  void scale(FloatArray array, float factor);
  void add(FloatArray array, FloatArray other, float factor);

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

  comm::Worker* worker_ = nullptr;
  std::unique_ptr<comm::Allreduce> allreduce_;
  PythonThread& thread_;  // outlives worker_, and is not used without it
  std::exception_ptr failure_;
};

/// A worker's replica, likewise.
class ReplicaView {
 public:
  explicit ReplicaView(std::shared_ptr<WorkerView> worker) : worker_(std::move(worker)) {}

  void set_replica(strategies::Replica* replica) { replica_ = replica; }

  nanobind::ndarray<nanobind::numpy, float> parameters() const { return view(replica().parameters); }
  nanobind::ndarray<nanobind::numpy, float> gradient() const { return view(replica().optimiser.gradients()); }
  void set_parameters(const FloatArray& values) { set(replica().parameters, values); }
  void set_gradient(const FloatArray& values) { set(replica().optimiser.gradients(), values); }
  double learning_rate() const { return replica().learning_rate; }
  void update();
  void reset_momentum();

 private:
  strategies::Replica& replica() const;
  static nanobind::ndarray<nanobind::numpy, float> view(std::span<float> values);
  static void set(std::span<float> own, const FloatArray& values);

  std::shared_ptr<WorkerView> worker_;
  strategies::Replica* replica_ = nullptr;
};

void bind_views(nanobind::module_& module);

}  // namespace paragrad::python
