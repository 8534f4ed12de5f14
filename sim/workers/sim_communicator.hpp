#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "comm/communicator.hpp"
#include "comm/wire.hpp"
#include "sim/cluster.hpp"
#include "sim/compute/pace.hpp"
#include "sim/network/surroundings.hpp"

namespace paragrad::sim {

/// An emulated worker's communicator. Messages go through the cluster's transport; arithmetic advances the worker's clock.
///
/// A worker that dies on the platform stops forever where it is; messages that it has started still arrive.
///
/// channel  0 or 1: messages of different channels never match, but share the links.
class SimCommunicator : public comm::Communicator, private comm::Membership, private comm::SimulatedTime {
 public:
  SimCommunicator(Cluster& cluster, int rank, backend::Device& device)
      : SimCommunicator(cluster, rank, device, 0, cluster.traffic[static_cast<std::size_t>(rank)]) {}

  SimCommunicator(Cluster& cluster, int rank, backend::Device& device, int channel,
                  std::shared_ptr<comm::TrafficMeter> traffic)
      : Communicator(device, rank, cluster.workers, std::move(traffic)),
        cluster_(cluster),
        first_tag_(channel * tags_per_channel),
        pace_(cluster.platform, rank, channel) {
    set_workers_per_node(cluster.workers_per_node);
    set_segmentation(cluster.platform.reduction.segmentation);
    set_membership(*this);
    set_simulated_time(*this);
  }

  comm::Request start_send(int to, int tag, std::span<const std::byte> data) override;
  comm::Request start_receive(int from, int tag, std::span<std::byte> data) override;
  comm::Received wait(comm::Request request) override;
  std::optional<comm::Received> wait_for(comm::Request request, double limit_s) override;
  double now_s() override;
  void add(std::span<const float> from, std::span<float> to) override;
  void library_routine(comm::Library library, comm::Operation operation, std::span<const float> send,
                       std::span<float> data) override;
  std::unique_ptr<comm::Window> open_window(std::size_t floats, std::size_t counters) override;

  Cluster& cluster() { return cluster_; }

  /// Runs a task whose work is at least `expected`, on the host pool; directly if the device does not compute.
  /// scale: factor on the time that the platform's device takes.
  void compute(const backend::WorkMeter& expected, const std::function<void()>& task, double scale = 1);

  /// Runs kernels directly if they are small or the device does not compute, otherwise on the host pool.
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override;

 private:
  bool is_gone(int peer) override;
  double observed_s() override { return to_seconds(cluster_.engine.own_time()); }
  void run_collective(comm::Communicator& comm, const comm::Collective& collective, std::span<float> data) override;
  void finish_messages() override { cluster_.carrier.finish(); }
  void post(const comm::TrafficReport& report) override { cluster_.posted[static_cast<std::size_t>(rank())] = report; }
  std::optional<comm::Surroundings> surroundings() const override {
    if (workers_per_node() == 0) return {};
    return surroundings_of(cluster_.platform, workers_per_node());
  }
  comm::TrafficReport posted(int rank) const override { return cluster_.posted[static_cast<std::size_t>(rank)]; }

  static constexpr int tags_per_channel = 1 << 16;  // MPI guarantees 2^15

  void time_here(const std::function<void()>& task, double scale = 1);
  /// work: of the task, if the device's meter does not tell.
  void run_here(const std::function<void()>& task, double scale = 1, const std::optional<backend::WorkMeter>& work = {});
  void spend(Time time);
  void stop_if_dead();
  void count(const comm::Received& received);
  void finish_what_is_received();
  Time time_since(const backend::WorkMeter& before, double scale = 1);
  Time time_of(const backend::WorkMeter& work, double scale) const;  ///< without noise

  Cluster& cluster_;
  int first_tag_;
  Pace pace_;
  std::uint64_t computations_ = 0;
  int collectives_ = 0;    // within each other, that this worker is in
  Time last_reading_ = 0;  // of the clock
  int readings_ = 0;       // at the same time
};

}  // namespace paragrad::sim
