#pragma once

#include <chrono>
#include <stdexcept>

#include "comm/communicator.hpp"

namespace paragrad::comm {

/// The communicator of a program without peers: no mpiexec, no MPI. Wall-clock time.
class SoloCommunicator : public Communicator {
 public:
  explicit SoloCommunicator(backend::Device& device) : Communicator(device, 0, 1) {}

  Request start_send(int, int, std::span<const std::byte>) override { nobody(); }
  Request start_receive(int, int, std::span<std::byte>) override { nobody(); }
  Received wait(Request) override { nobody(); }
  std::optional<Received> wait_for(Request, double) override { nobody(); }
  double now_s() override { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void library_routine(Library, Operation, std::span<const float>, std::span<float>) override {}

 private:
  using Clock = std::chrono::steady_clock;
  [[noreturn]] static void nobody() { throw std::logic_error("a single worker has no peers to communicate with"); }

  Clock::time_point start_ = Clock::now();
};

}  // namespace paragrad::comm
