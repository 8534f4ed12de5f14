#pragma once

#include <memory>
#include <string>
#include <utility>

#include "comm/communicator.hpp"
#include "hosting/hosted_messages.hpp"
#include "hosting/hosted_window.hpp"
#include "hosting/hosting.hpp"

namespace paragrad::hosting {

/// What the workers of this process share.
struct Host {
  Host(int workers_, const HostingOptions& options);

  static constexpr std::size_t fibers_per_worker = 3;  // the worker, its tasks, its service

  int workers;  // of all processes
  int workers_per_node;
  std::string device;
  std::unique_ptr<backend::Device> carrier;
  HostedMessages messages;
  OpeningWindows windows;
  std::exception_ptr untold;  // the first error of a task or service that was never joined
  Scheduler scheduler;        // last member: its end unwinds the workers' fibers, which use the others
};

/// The communicator of a worker that shares its process with others. Wall-clock time; nobody can be lost alone.
///
/// channel  0 or 1: messages of different channels never match.
class HostedCommunicator : public comm::Communicator {
 public:
  HostedCommunicator(Host& host, int rank, backend::Device& device, int channel = 0,
                     std::shared_ptr<comm::TrafficMeter> traffic = std::make_shared<comm::TrafficMeter>());

  comm::Request start_send(int to, int tag, std::span<const std::byte> data) override;
  comm::Request start_receive(int from, int tag, std::span<std::byte> data) override;
  comm::Received wait(comm::Request request) override;
  std::optional<comm::Received> wait_for(comm::Request request, double limit_s) override;
  double now_s() override { return host_.scheduler.now_s(); }

  /// Runs kernels directly if they are small, otherwise as compute() does.
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override;

  /// Runs a task where the scheduler has arithmetic done.
  void compute(const std::function<void()>& task);

  /// Throws ConfigError: libraries know ranks only.
  void library_routine(comm::Library library, comm::Operation, std::span<const float> send, std::span<float> data) override;

  std::unique_ptr<comm::Window> open_window(std::size_t floats, std::size_t counters) override;

  using Communicator::traffic_meter;
  Host& host() { return host_; }

  /// From now on waits fail. For tasks whose worker ends with an error.
  void abandon() { waits_->abandon(); }

 private:
  static constexpr int tags_per_channel = 1 << 16;  // MPI guarantees 2^15

  Host& host_;
  int first_tag_;
  std::shared_ptr<Waits> waits_;  // of its windows, too
};

}  // namespace paragrad::hosting
