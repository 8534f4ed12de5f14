#pragma once

#include "comm/communicator.hpp"

namespace paragrad::comm {

/// Base of communicators that wrap another one: forwards everything, so that a wrapper overrides only what it changes and
/// forgets nothing.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(Communicator& inner) : Communicator(inner.device()), inner_(inner) {
    set_workers_per_node(inner.workers_per_node());
  }

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Request start_send(int to, int tag, std::span<const std::byte> data) override { return inner_.start_send(to, tag, data); }
  Request start_receive(int from, int tag, std::span<std::byte> data) override {
    return inner_.start_receive(from, tag, data);
  }
  Received wait(Request request) override { return inner_.wait(request); }
  std::optional<Received> wait_for(Request request, double limit_s) override { return inner_.wait_for(request, limit_s); }
  bool is_gone(int peer) override { return inner_.is_gone(peer); }
  void take_for_gone(int peer) override { inner_.take_for_gone(peer); }
  double now_s() override { return inner_.now_s(); }
  double observed_s() override { return inner_.observed_s(); }
  void add(std::span<const float> from, std::span<float> to) override { inner_.add(from, to); }
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override { inner_.run_kernels(kernels); }
  void library_allreduce(Library library, std::span<float> data) override { inner_.library_allreduce(library, data); }
  std::unique_ptr<Window> open_window(std::size_t floats, std::size_t counters) override {
    return inner_.open_window(floats, counters);
  }
  bool shortcut(const Collective& collective, std::span<float> data) override { return inner_.shortcut(collective, data); }
  std::size_t skip_repeated(std::size_t turns) override { return inner_.skip_repeated(turns); }
  std::span<float> scratch(std::size_t count) override { return inner_.scratch(count); }

 protected:
  Communicator& inner() { return inner_; }
  const Communicator& inner() const { return inner_; }

 private:
  Communicator& inner_;
};

}  // namespace paragrad::comm
