#pragma once

#include <utility>

#include "comm/group_communicator.hpp"
#include "comm/worker.hpp"

namespace paragrad::comm {

/// For a base that needs it before the members are there.
struct GroupSeat {
  GroupCommunicator group;
};

/// A worker among some of the workers of another world: first, first + stride, …, `count` of them, of which `all` is one. It
/// computes as `all` does, and its peers are the group's. Groups that do not overlap go on side by side; launched tasks are
/// those of `all`, so they come in one order, whichever group's they are.
class GroupWorker : private GroupSeat, public Worker {
 public:
  GroupWorker(Worker& all, int first, int stride, int count)
      : GroupSeat{{all.comm(), first, stride, count}},
        Worker(group),
        all_(all),
        first_(first),
        stride_(stride),
        count_(count) {}

  void compute(const backend::WorkMeter& expected, const std::function<void()>& task) override {
    all_.compute(expected, task);
  }
  void run_kernels(const std::function<void(backend::Device&)>& kernels) override { all_.run_kernels(kernels); }
  void launch(Task task) override { all_.launch(in_group(std::move(task))); }
  void join() override { all_.join(); }
  void serve(Task task) override { all_.serve(in_group(std::move(task))); }
  void join_service() override { all_.join_service(); }
  bool serves_beside() const override { return all_.serves_beside(); }
  void set_expendable(bool expendable) override { all_.set_expendable(expendable); }
  bool attempt(Task task, double limit_s) override { return all_.attempt(in_group(std::move(task)), limit_s); }
  void abandon_tasks() noexcept override { all_.abandon_tasks(); }
  void start_read(std::uint64_t bytes) override { all_.start_read(bytes); }
  void finish_read() override { all_.finish_read(); }
  Worker& everyone() override { return all_.everyone(); }
  core::ActivityRecorder* recorder() override { return all_.recorder(); }

 private:
  Task in_group(Task task) const {
    return [first = first_, stride = stride_, count = count_, task = std::move(task)](Communicator& comm) {
      GroupCommunicator group(comm, first, stride, count);
      task(group);
    };
  }

  Worker& all_;
  int first_;
  int stride_;
  int count_;
};

}  // namespace paragrad::comm
