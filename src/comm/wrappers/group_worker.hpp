#pragma once

#include <utility>

#include "comm/wrappers/group_communicator.hpp"
#include "comm/wrappers/partial_worker.hpp"

namespace paragrad::comm {

/// Base-from-member: constructed before the worker base that needs it.
struct HoldsGroupCommunicator {
  GroupCommunicator group;
};

/// A worker in a group of workers: first, first + stride, …, `count` of them, including `all`. Disjoint groups run
/// independently; the launched tasks of a worker run in one order, whichever group they belong to.
class GroupWorker : private HoldsGroupCommunicator, public PartialWorker {
 public:
  GroupWorker(Worker& all, int first, int stride, int count)
      : HoldsGroupCommunicator{{all.comm(), first, stride, count}},
        PartialWorker(group, all),
        first_(first),
        stride_(stride),
        count_(count) {}

 private:
  Task among_peers(Task task) const override {
    return [first = first_, stride = stride_, count = count_, task = std::move(task)](Communicator& comm) {
      GroupCommunicator group(comm, first, stride, count);
      task(group);
    };
  }

  int first_;
  int stride_;
  int count_;
};

}  // namespace paragrad::comm
