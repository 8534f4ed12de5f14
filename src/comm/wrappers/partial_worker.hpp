#pragma once

#include <memory>
#include <utility>

#include "comm/worker.hpp"
#include "comm/wrappers/forwarding_communicator.hpp"

namespace paragrad::comm {

/// Base of communicators that have only some of another's workers, with ranks of their own.
class PartialCommunicator : public ForwardingCommunicator, protected ForwardingMembership {
 public:
  explicit PartialCommunicator(Communicator& all) : ForwardingCommunicator(all), ForwardingMembership(all.membership()) {
    set_membership(*this);
  }

  Request start_send(int to, int tag, std::span<const std::byte> data) override {
    return inner().start_send(to_inner(to), tag, data);
  }
  Request start_receive(int from, int tag, std::span<std::byte> data) override {
    return inner().start_receive(from == any_source ? any_source : to_inner(from), tag, data);
  }
  Received wait(Request request) override { return renumbered(inner().wait(request)); }
  std::optional<Received> wait_for(Request request, double limit_s) override {
    const auto received = inner().wait_for(request, limit_s);
    return received ? std::optional(renumbered(*received)) : std::nullopt;
  }

 private:
  TrafficReport posted(int rank) const override { return inner().simulated_time()->posted(to_inner(rank)); }
  int to_inner(int rank) const override = 0;
  virtual int from_inner(int rank) const = 0;
  Received renumbered(const Received& received) const {
    if (received.source == any_source) return received;  // a send
    return {from_inner(received.source), received.bytes};
  }
};

/// A worker with only some of the peers of another worker, to which it delegates computing and launching. Launched
/// tasks and services run in the other worker's one order, and communicate with the same peers as this worker. Peers: a
/// PartialCommunicator, constructed from another communicator and what selection() returns.
template <class Peers>
class PartialWorker : public Worker {
 public:
  PartialWorker(std::unique_ptr<Peers> peers, Worker& all) : Worker(*peers, all), all_(all), peers_(std::move(peers)) {}

  void compute(const backend::WorkMeter& expected, const std::function<void()>& task) override {
    all_.compute(expected, task);
  }
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override { all_.run_kernels(kernels); }
  void launch(Task task) override { all_.launch(among_peers(std::move(task))); }
  void join() override { all_.join(); }
  void serve(Task task) override { all_.serve(among_peers(std::move(task))); }
  void join_service() override { all_.join_service(); }
  bool attempt(Task task, double limit_s, Steps steps) override {
    return all_.attempt(among_peers(std::move(task)), limit_s, std::move(steps));
  }
  void abandon_tasks() noexcept override { all_.abandon_tasks(); }

 protected:
  const Peers& peers() const { return *peers_; }

 private:
  /// Wraps the task so that it gets a communicator restricted to this worker's peers.
  Task among_peers(Task task) const {
    return [selection = peers_->selection(), task = std::move(task)](Communicator& comm) {
      Peers peers(comm, selection);
      task(peers);
    };
  }

  Worker& all_;
  std::unique_ptr<Peers> peers_;
};

}  // namespace paragrad::comm
