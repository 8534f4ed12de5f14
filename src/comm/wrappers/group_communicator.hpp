#pragma once

#include <algorithm>

#include "comm/communicator.hpp"
#include "core/errors.hpp"

namespace paragrad::comm {

/// A group of another communicator's workers: first, first + stride, …, `count` of them, including this worker. Messages and
/// scratch memory are the other communicator's, so the two must not be used at the same time.
class GroupCommunicator : public Communicator {
 public:
  GroupCommunicator(Communicator& all, int first, int stride, int count)
      : Communicator(all.device()), all_(all), first_(first), stride_(stride), count_(count) {
    set_workers_per_node(stride == 1 ? std::min(all.workers_per_node(), count) : 1);
  }

  int rank() const override { return (all_.rank() - first_) / stride_; }
  int size() const override { return count_; }
  Request start_send(int to, int tag, std::span<const std::byte> data) override {
    return all_.start_send(first_ + to * stride_, tag, data);
  }
  /// any_source requires a tag that only group members send to this worker; a message from another worker is a logic_error.
  Request start_receive(int from, int tag, std::span<std::byte> data) override {
    return all_.start_receive(from == any_source ? any_source : first_ + from * stride_, tag, data);
  }
  Received wait(Request request) override { return from_member(all_.wait(request)); }
  std::optional<Received> wait_for(Request request, double limit_s) override {
    const auto received = all_.wait_for(request, limit_s);
    if (!received) return std::nullopt;
    return from_member(*received);
  }
  bool is_gone(int peer) override { return all_.is_gone(first_ + peer * stride_); }
  void take_for_gone(int peer) override { all_.take_for_gone(first_ + peer * stride_); }
  double now_s() override { return all_.now_s(); }
  void add(std::span<const float> from, std::span<float> to) override { all_.add(from, to); }
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override { all_.run_kernels(kernels); }
  void library_allreduce(Library, std::span<float>) override {
    throw core::ConfigError("a library allreduce sums over all workers, not over a group: choose another collective");
  }
  std::span<float> scratch(std::size_t count) override { return all_.scratch(count); }

 private:
  Received from_member(const Received& received) const {
    if (received.source == any_source) return received;  // a send
    const int member = (received.source - first_) / stride_;
    if (member < 0 || member >= count_ || first_ + member * stride_ != received.source)
      throw std::logic_error("a group of workers received a message from outside the group");
    return {member, received.bytes};
  }

  Communicator& all_;
  int first_;
  int stride_;
  int count_;
};

}  // namespace paragrad::comm
