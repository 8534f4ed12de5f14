#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <string>
#include <type_traits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "python/python_thread.hpp"
#include "python/worker_view.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::strategies {

struct PythonOptions : comm::CollectiveOptions {
  std::string python_class;
  std::string arguments = "{}";

  void describe(core::OptionList& list) {
    CollectiveOptions::describe(list);
    list.group("Python");
    list.text("python-class", python_class, "class of the strategy, MODULE:CLASS");
    list.text("python-arguments", arguments, "keyword arguments of the class, as a JSON object");
  }
};

/// Imports the class and calls it. Throws ConfigError, nanobind::python_error.
nanobind::object make_python_object(const PythonOptions& options);

/// "ZeroDivisionError: division by zero (strategy.py, line 7)"
std::string describe(const nanobind::python_error& error);

/// A strategy whose functions are those of a Python object, as far as it has them.
template <class Base>
class PythonStrategy : public Base {
 public:
  explicit PythonStrategy(const PythonOptions& options)
      : Base(std::is_same_v<Base, Strategy> ? Share::block : Share::minibatch),
        name_(options.python_class),
        worker_(std::make_shared<python::WorkerView>(options.collective, thread_)),
        replica_(std::make_shared<python::ReplicaView>(worker_)) {
    enter("__init__", [&] {
      views_ = nanobind::make_tuple(worker_, replica_);
      object_ = make_python_object(options);
    });
  }
  ~PythonStrategy() override {
    worker_->set_worker(nullptr);
    replica_->set_replica(nullptr);
    thread_.run([&] {
      object_.reset();
      views_.reset();
    });
  }

  void start(comm::Worker& worker, Replica& replica) override { call("start", worker, replica); }
  void begin_epoch(comm::Worker& worker, Replica& replica, int epoch) override {
    call("begin_epoch", worker, replica, epoch);
  }
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override {
    call("synchronise", worker, replica, samples);
  }
  void show_model(comm::Worker& worker, Replica& replica) override { call("show_model", worker, replica); }
  void resume_work(comm::Worker& worker, Replica& replica) override { call("resume_work", worker, replica); }

 protected:
  template <class... Arguments>
  void call(const char* function, comm::Worker& worker, Replica& replica, Arguments... arguments) {
    if (!worker.device().is_host())
      throw core::ConfigError(
          core::format("strategies in Python need arrays in host memory, which device '{}' does not "
                       "have: give `device` cpu",
                       worker.device().name()));
    worker_->set_worker(&worker);
    replica_->set_replica(&replica);
    enter(function, [&] {
      if (nanobind::hasattr(object_, function)) object_.attr(function)(views_[0], views_[1], arguments...);
    });
  }

 private:
  template <class Action>
  void enter(const char* function, Action action) {
    std::string failure;
    thread_.run([&] {
      try {
        action();
      } catch (const nanobind::python_error& error) {
        failure = core::format("{}.{}: {}", name_, function, describe(error));
      }
    });
    worker_->rethrow();
    if (!failure.empty()) throw core::ConfigError(failure);
  }

  std::string name_;
  python::PythonThread thread_;
  std::shared_ptr<python::WorkerView> worker_;
  std::shared_ptr<python::ReplicaView> replica_;
  nanobind::object object_;
  nanobind::object views_;
};

}  // namespace paragrad::strategies
