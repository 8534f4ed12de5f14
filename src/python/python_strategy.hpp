#pragma once

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "python/nanobind.hpp"
#include "python/python_thread.hpp"
#include "python/user_code.hpp"
#include "python/worker_view.hpp"
#include "runs/foreign_sources.hpp"
#include "strategies/strategy.hpp"
#include "worlds/interruption.hpp"

namespace paragrad::strategies {

struct PythonOptions : comm::CollectiveOptions {
  std::string python_class;
  std::string arguments = "{}";
  std::string source_sha256;

  void describe(core::OptionList& list) {
    CollectiveOptions::describe(list);
    list.group("Python");
    list.text("python-class", python_class, "class of the strategy, MODULE:CLASS");
    list.text("python-arguments", arguments, "keyword arguments of the class, as a JSON object");
    list.text(runs::source_digest_option, source_sha256, "hash of the code and the constants of the class");
  }
};

/// In its lifetime strategies in Python are the one of the call from Python, which no option and no file can name. given: a
/// paragrad.strategy.Given, or None. One at a time; needs the interpreter's lock.
class GivenStrategy {
 public:
  explicit GivenStrategy(nanobind::handle given);
  ~GivenStrategy();
  GivenStrategy(const GivenStrategy&) = delete;
};

/// Throws ConfigError if no strategy was given. Needs the interpreter's lock, too.
void require_given(const PythonOptions& options);

/// A worker's own object. Throws nanobind::python_error.
nanobind::object make_python_object();

/// Adds the arrays in `returned`, the result of a strategy's state(). Keep `returned` alive as long as `state` is used.
/// Throws ConfigError unless it is a dict of float32 arrays.
void add_arrays(core::StateView& state, const nanobind::object& returned);

/// Throws ConfigError unless the arrays of two results of state() have the same names and lengths and, with `same_memory`,
/// are the same.
void check_arrays(const core::StateView& now, const core::StateView& before, bool same_memory);

/// A strategy whose functions are those of a Python object, as far as it has them. share: what Base is made from.
template <class Base>
class PythonStrategy : public Base {
 public:
  explicit PythonStrategy(const PythonOptions& options, auto... share)
      : Base(share...),
        name_(options.python_class),
        worker_(std::make_shared<python::WorkerView>(options.python_class, options.collective, thread_)),
        replica_(std::make_shared<python::ReplicaView>(worker_)) {
    enter("__init__", [&] { require_given(options); });
  }
  ~PythonStrategy() override {
    worker_->end_run();
    replica_->end_run();
  }

  void start(comm::Worker& worker, Replica& replica) override {
    call("start", worker, replica);
    started_with_ = ask_for_state();
    check_arrays(ask_for_state(), started_with_, true);
  }
  void begin_epoch(comm::Worker& worker, Replica& replica, int epoch) override {
    call("begin_epoch", worker, replica, epoch);
  }
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override {
    call("synchronise", worker, replica, samples);  // which also ends the steps of the block
  }
  void show_model(comm::Worker& worker, Replica& replica) override { call("show_model", worker, replica); }
  void resume_work(comm::Worker& worker, Replica& replica) override { call("resume_work", worker, replica); }
  void describe_state(core::StateView& state) override {
    core::StateView now = ask_for_state();
    check_arrays(now, started_with_, false);
    std::ranges::move(now.arrays, std::back_inserter(state.arrays));
  }

 protected:
  template <class... Arguments>
  void call(const char* function, comm::Worker& worker, Replica& replica, Arguments... arguments) {
    if (!worker.device().is_host())
      throw core::ConfigError(
          core::format("strategies in Python need arrays in host memory, which device '{}' does not "
                       "have: give `device` cpu",
                       worker.device().name()));
    if (!std::exchange(has_object_, true))
      enter("__init__", [&] {  // not in the constructor, as some strategies are made for a check of their options only
        objects_.views = nanobind::make_tuple(worker_, replica_);
        objects_.strategy = make_python_object();
      });
    worker_->begin(worker, function);
    replica_->set_replica(&replica);
    enter(function, [&] {
      const nanobind::object& strategy = objects_.strategy;
      if (nanobind::hasattr(strategy, function)) strategy.attr(function)(objects_.views[0], objects_.views[1], arguments...);
    });
    if (function != std::string_view("step")) worker_->end();
  }

  /// The number that a function without worker and replica returns.
  template <class... Arguments>
  std::size_t ask(const char* function, Arguments... arguments) {
    std::size_t result = 0;
    enter(function, [&] {
      const nanobind::object returned = objects_.strategy.attr(function)(arguments...);
      if (!nanobind::try_cast(returned, result))
        throw core::ConfigError(core::format("{}.{} must return a whole number, not {}", name_, function,
                                             nanobind::cast<std::string>(nanobind::repr(returned))));
    });
    return result;
  }

  const std::string& name() const { return name_; }

 private:
  /// The arrays live until the second call after this one.
  core::StateView ask_for_state() {
    core::StateView state;
    enter("state", [&] {
      if (!nanobind::hasattr(objects_.strategy, "state")) return;
      objects_.earlier_state = std::exchange(objects_.state, objects_.strategy.attr("state")());
      add_arrays(state, objects_.state);
    });
    return state;
  }

  template <class Action>
  void enter(const char* function, Action action) {
    std::exception_ptr failure;
    thread_.run([&] {
      try {
        try {
          action();
        } catch (const nanobind::python_error& error) {
          if (error.matches(PyExc_KeyboardInterrupt)) throw worlds::Interrupted();
          if (!worker_->has_failed())
            throw core::ConfigError(core::format("{}.{}: {}", name_, function, python::report(error)));
        }
      } catch (...) {
        failure = std::current_exception();
      }
    });
    try {
      worker_->rethrow();
    } catch (const std::logic_error& error) {  // what only our own code could do wrong, if Python did not call it
      throw core::ConfigError(core::format("{}.{}: {}", name_, function, error.what()));
    }
    if (failure) std::rethrow_exception(failure);
  }

  std::string name_;
  core::StateView started_with_;  ///< what state() returned after start(); only names and lengths remain valid
  python::PythonThread thread_;
  std::shared_ptr<python::WorkerView> worker_;
  std::shared_ptr<python::ReplicaView> replica_;
  struct Objects {  // which need the interpreter's lock to be deleted
    python::PythonThread& thread;
    nanobind::object strategy{};
    nanobind::object views{};
    nanobind::object state{}, earlier_state{};  ///< what state() returned

    ~Objects() {
      thread.run([this] {
        strategy.reset();
        views.reset();
        state.reset();
        earlier_state.reset();
      });
    }
  };
  Objects objects_{thread_};
  bool has_object_ = false;
};

}  // namespace paragrad::strategies
