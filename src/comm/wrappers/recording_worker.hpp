#pragma once

#include <optional>
#include <utility>

#include "comm/worker.hpp"
#include "comm/wrappers/forwarding_communicator.hpp"
#include "core/activity.hpp"
#include "core/scoped_flag.hpp"

namespace paragrad::comm {

/// Wraps a communicator and records when it waits and adds.
class RecordingCommunicator : public ForwardingCommunicator {
 public:
  RecordingCommunicator(Communicator& inner, core::ActivityRecorder& recorder)
      : ForwardingCommunicator(inner), recorder_(recorder) {}

  Received wait(Request request) override {
    const core::ActivitySpan span(recorder_, core::Activity::wait, inner());
    return inner().wait(request);
  }
  std::optional<Received> wait_for(Request request, double limit_s) override {
    const core::ActivitySpan span(recorder_, core::Activity::wait, inner());
    return inner().wait_for(request, limit_s);
  }
  void add(std::span<const float> from, std::span<float> to) override {
    const core::ActivitySpan span(recorder_, core::Activity::reduce, inner());
    inner().add(from, to);
  }
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override {
    const core::ActivitySpan span(recorder_, core::Activity::reduce, inner());
    inner().run_kernels(kernels);
  }
  void library_routine(Library library, Operation operation, std::span<const float> send, std::span<float> data) override {
    const core::ActivitySpan span(recorder_, core::Activity::wait, inner());
    inner().library_routine(library, operation, send, data);
  }

 private:
  core::ActivityRecorder& recorder_;
};

/// Base-from-member: constructed before the worker base that needs it.
struct HoldsRecordingCommunicator {
  RecordingCommunicator recording;
};

/// Wraps a worker and records its activities, with a separate recorder for its communication tasks. Only one thread at a
/// time uses a recorder. Neither results nor simulated times change.
class RecordingWorker : private HoldsRecordingCommunicator, public Worker {
 public:
  RecordingWorker(Worker& inner, core::ActivityRecorder& own, core::ActivityRecorder& of_tasks)
      : HoldsRecordingCommunicator{{inner.comm(), own}},
        Worker(recording, inner),
        inner_(inner),
        own_(own),
        of_tasks_(of_tasks) {
    set_all_ranks(*this);
    set_recorder(own);
  }

  void compute(const backend::WorkMeter& expected, const std::function<void()>& task) override {
    record_unless_computing([&] { inner_.compute(expected, task); });
  }
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override {
    record_unless_computing([&] { inner_.run_kernels(kernels); });
  }
  void launch(Task task) override {
    inner_.launch([this, task = std::move(task)](Communicator& comm) {
      if (!task_comm_) task_comm_.emplace(comm, of_tasks_);
      const core::ActivitySpan span(of_tasks_, core::Activity::task, comm);
      task(*task_comm_);
    });
  }
  void join() override {
    const core::ActivitySpan span(own_, core::Activity::wait, inner_.comm());
    inner_.join();
  }
  /// Not recorded: a service waits nearly always.
  void serve(Task task) override { inner_.serve(std::move(task)); }
  void join_service() override {
    const core::ActivitySpan span(own_, core::Activity::wait, inner_.comm());
    inner_.join_service();
  }
  bool attempt(Task task, double limit_s, Steps steps) override {
    return inner_.attempt(std::move(task), limit_s, std::move(steps));
  }
  void abandon_tasks() noexcept override { inner_.abandon_tasks(); }

 private:
  template <class Action>
  void record_unless_computing(const Action& action) {
    if (computing_) return action();
    const core::ActivitySpan span(own_, core::Activity::compute, inner_.comm());
    const core::ScopedFlag inside(computing_);
    action();
  }

  Worker& inner_;
  core::ActivityRecorder& own_;
  core::ActivityRecorder& of_tasks_;
  std::optional<RecordingCommunicator> task_comm_;  // used by tasks only; all get the same communicator
  bool computing_ = false;                          // a nested computation is part of the outer one
};

}  // namespace paragrad::comm
