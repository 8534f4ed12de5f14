#pragma once

#include "comm/communicator.hpp"

namespace paragrad::comm {

/// Base of communicators that wrap another one: forwards everything, so that a wrapper overrides only what it changes and
/// forgets nothing. Every message passes through it: a simulator executes no collective as a whole.
class ForwardingCommunicator : public Communicator, private SimulatedTime {
 public:
  explicit ForwardingCommunicator(Communicator& inner) : Communicator(inner), inner_(inner) {
    if (inner.simulated_time() != nullptr) set_simulated_time(*this);
  }

  Request start_send(int to, int tag, std::span<const std::byte> data) override { return inner_.start_send(to, tag, data); }
  Request start_receive(int from, int tag, std::span<std::byte> data) override {
    return inner_.start_receive(from, tag, data);
  }
  Received wait(Request request) override { return inner_.wait(request); }
  std::optional<Received> wait_for(Request request, double limit_s) override { return inner_.wait_for(request, limit_s); }
  double now_s() override { return inner_.now_s(); }
  void add(std::span<const float> from, std::span<float> to) override { inner_.add(from, to); }
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override { inner_.run_kernels(kernels); }
  void library_routine(Library library, Operation operation, std::span<const float> send, std::span<float> data) override {
    inner_.library_routine(library, operation, send, data);
  }
  std::unique_ptr<Window> open_window(std::size_t floats, std::size_t counters) override {
    return inner_.open_window(floats, counters);
  }

  const Communicator& wrapped() const { return inner_; }

 protected:
  Communicator& inner() { return inner_; }
  const Communicator& inner() const { return inner_; }

 private:
  double observed_s() override { return inner_.observed_s(); }
  void post(const TrafficReport& report) override { inner_.simulated_time()->post(report); }
  TrafficReport posted(int rank) const override { return inner_.simulated_time()->posted(rank); }
  void finish_messages() override { inner_.simulated_time()->finish_messages(); }
  std::optional<Surroundings> surroundings() const override { return inner_.simulated_time()->surroundings(); }

  Communicator& inner_;
};

}  // namespace paragrad::comm
