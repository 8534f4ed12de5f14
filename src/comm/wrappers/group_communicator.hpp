#pragma once

#include <algorithm>

#include "comm/wrappers/forwarding_communicator.hpp"
#include "core/errors.hpp"

namespace paragrad::comm {

/// A group of another communicator's workers: first, first + stride, …, `count` of them, including this worker. Messages and
/// scratch memory are the other communicator's, so the two must not be used at the same time.
class GroupCommunicator : public ForwardingCommunicator, private ForwardingMembership {
 public:
  GroupCommunicator(Communicator& all, int first, int stride, int count)
      : ForwardingCommunicator(all), ForwardingMembership(all.membership()), first_(first), stride_(stride), count_(count) {
    set_position((all.rank() - first) / stride, count);
    set_membership(*this);
    set_workers_per_node(stride == 1 ? std::min(all.workers_per_node(), count) : 1);
  }

  Request start_send(int to, int tag, std::span<const std::byte> data) override {
    return inner().start_send(to_inner(to), tag, data);
  }
  /// any_source requires a tag that only group members send to this worker; a message from another worker is a logic_error.
  Request start_receive(int from, int tag, std::span<std::byte> data) override {
    return inner().start_receive(from == any_source ? any_source : to_inner(from), tag, data);
  }
  Received wait(Request request) override { return from_member(inner().wait(request)); }
  std::optional<Received> wait_for(Request request, double limit_s) override {
    const auto received = inner().wait_for(request, limit_s);
    if (!received) return std::nullopt;
    return from_member(*received);
  }
  void library_allreduce(Library, std::span<float>) override {
    throw core::ConfigError("a library allreduce sums over all workers, not over a group: choose another collective");
  }
  std::unique_ptr<Window> open_window(std::size_t floats, std::size_t counters) override {
    return Communicator::open_window(floats, counters);  // refuses: windows are of all workers
  }

 private:
  TrafficReport posted(int rank) const override { return inner().simulated_time()->posted(to_inner(rank)); }
  int to_inner(int rank) const override { return first_ + rank * stride_; }
  Received from_member(const Received& received) const {
    if (received.source == any_source) return received;  // a send
    const int member = (received.source - first_) / stride_;
    if (member < 0 || member >= count_ || first_ + member * stride_ != received.source)
      throw std::logic_error("a group of workers received a message from outside the group");
    return {member, received.bytes};
  }

  int first_;
  int stride_;
  int count_;
};

}  // namespace paragrad::comm
