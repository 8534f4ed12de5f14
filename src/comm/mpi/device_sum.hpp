#pragma once

#include <memory>
#include <span>

#include "comm/communicator.hpp"
#include "comm/mpi/cancellation.hpp"
#include "comm/mpi/peers.hpp"

namespace paragrad::comm {

/// The allreduce of the devices' own library (NCCL) among the ranks of a communicator.
class DeviceSum {
 public:
  /// When to stop waiting.
  struct Limits {
    double stall_s;
    std::shared_ptr<const Cancellation> cancellation;
    std::shared_ptr<Peers> peers;
  };

  /// Connects the devices. Collective. Throws ConfigError on all ranks if one of them has no such library.
  DeviceSum(Communicator& comm, Limits limits);

  /// Replaces `data`, in device or host memory, with its sum over all ranks. Collective. Throws Failure if the limits
  /// end the wait; after any error the devices are disconnected, and every further call throws Failure.
  void operator()(std::span<float> data);

 private:
  void wait() const;
  template <class Call>
  void or_disconnect(const Call& call);

  Communicator& comm_;
  Limits limits_;
  std::unique_ptr<backend::DeviceAllreduce> library_;
};

}  // namespace paragrad::comm
