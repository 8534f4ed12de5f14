#pragma once

#include <utility>

#include "comm/wrappers/group_communicator.hpp"
#include "comm/wrappers/partial_worker.hpp"

namespace paragrad::comm {

/// For a base that needs it before the members are there.
struct HoldsGroupCommunicator {
  GroupCommunicator group;
};

/// A worker among some of the workers of another world: first, first + stride, …, `count` of them, of which `all` is one.
/// Groups that do not overlap go on side by side; launched tasks come in one order, whichever group's they are.
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
