#pragma once

#include <algorithm>

#include "comm/communicator.hpp"
#include "core/errors.hpp"

namespace paragrad::comm {

/// Some workers of another communicator as a world of their own: first, first + stride, …, `count` of them, of which this
/// worker is one. Messages and scratch memory are the other communicator's, so the two are used one after the other.
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
  /// From a named member only: what others send to `all` could not be told apart.
  Request start_receive(int from, int tag, std::span<std::byte> data) override {
    if (from == any_source) throw std::logic_error("a group of workers cannot receive from any source");
    return all_.start_receive(first_ + from * stride_, tag, data);
  }
  Received wait(Request request) override {
    const Received received = all_.wait(request);
    return {(received.source - first_) / stride_, received.bytes};
  }
  double now_s() override { return all_.now_s(); }
  void add(std::span<const float> from, std::span<float> to) override { all_.add(from, to); }
  void run_kernels(const std::function<void(backend::Device&)>& kernels) override { all_.run_kernels(kernels); }
  void library_allreduce(std::span<float>) override {
    throw core::ConfigError(
        "the transport's own routine sums over all workers, not over a group: choose another collective");
  }
  std::span<float> scratch(std::size_t count) override { return all_.scratch(count); }

 private:
  Communicator& all_;
  int first_;
  int stride_;
  int count_;
};

}  // namespace paragrad::comm
