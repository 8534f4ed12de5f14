#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "comm/wrappers/partial_worker.hpp"
#include "core/errors.hpp"

namespace paragrad::comm {

/// Ranks first, first + stride, …, `count` of them.
struct RankGroup {
  int first, stride, count;
};

/// A group of another communicator's workers, including this worker. Messages and scratch memory are the other
/// communicator's, so the two must not be used at the same time.
///
/// Receiving from any_source requires a tag that only group members send to this worker; a message from another worker is a
/// logic_error.
class GroupCommunicator : public PartialCommunicator {
 public:
  GroupCommunicator(Communicator& all, const RankGroup& group) : PartialCommunicator(all), group_(group) {
    set_position((all.rank() - group.first) / group.stride, group.count);
    set_workers_per_node(group.stride == 1 ? std::min(all.workers_per_node(), group.count) : 1);
  }

  const RankGroup& selection() const { return group_; }

  void library_routine(Library, Operation, std::span<const float>, std::span<float>) override {
    throw core::ConfigError("a library's collective runs among all workers, not in a group: choose another collective");
  }
  std::unique_ptr<Window> open_window(std::size_t floats, std::size_t counters) override {
    return Communicator::open_window(floats, counters);  // refuses: windows are of all workers
  }

 private:
  int to_inner(int rank) const override { return group_.first + rank * group_.stride; }
  int from_inner(int rank) const override {
    const int member = (rank - group_.first) / group_.stride;
    if (member < 0 || member >= group_.count || to_inner(member) != rank)
      throw std::logic_error("a group of workers received a message from outside the group");
    return member;
  }

  RankGroup group_;
};

/// A worker in a group of workers, including `all`. Disjoint groups run independently; the launched tasks of a worker run in
/// one order, whichever group they belong to.
class GroupWorker : public PartialWorker<GroupCommunicator> {
 public:
  GroupWorker(Worker& all, int first, int stride, int count)
      : PartialWorker(std::make_unique<GroupCommunicator>(all.comm(), RankGroup{first, stride, count}), all) {}
};

}  // namespace paragrad::comm
