#include "comm/mpi/device_sum.hpp"

#include <string>
#include <utility>

#include "comm/allreduce.hpp"
#include "comm/mpi/backoff.hpp"
#include "core/format.hpp"

namespace paragrad::comm {

// A rank without the library reports it before the others wait for it.
DeviceSum::DeviceSum(Communicator& comm, Limits limits) : comm_(comm), limits_(std::move(limits)) {
  agree(comm, [&] { library_ = comm.device().make_allreduce(); });
  const std::string invitation = first_text(comm, comm.rank() == 0 ? library_->invite() : "");
  or_disconnect([&] {
    library_->join(invitation, comm.rank(), comm.size());
    wait();
  });
}

void DeviceSum::operator()(std::span<float> data) {
  if (!library_) throw Failure(core::format("worker {}: an earlier allreduce between devices failed", comm_.rank()));
  backend::Device& device = comm_.device();
  const bool is_there = device.is_isolated(data.data());
  const std::span<float> there = is_there ? data : comm_.scratch(data.size());
  if (!is_there) device.transfer(std::span<const float>(data), there);
  or_disconnect([&] {
    library_->start(there);
    wait();
  });
  if (!is_there) device.transfer(std::span<const float>(there), data);
}

// A sum that the others do not join keeps the device busy, and whoever releases its memory waiting: it ends before the
// error goes on.
template <class Call>
void DeviceSum::or_disconnect(const Call& call) {
  try {
    call();
  } catch (...) {
    library_.reset();
    throw;
  }
}

// There is no MPI message to wait for, and no single peer to check.
void DeviceSum::wait() const {
  constexpr double look_every_s = 0.1;
  Competition competition;
  Backoff backoff(competition);
  double look_at_s = look_every_s;
  while (!library_->is_done()) {
    const auto give_up = [&](const std::string& why) {
      throw Failure(core::format("worker {}: allreduce between devices: {}", comm_.rank(), why));
    };
    const double waited_s = backoff.waited_s();
    if (limits_.cancellation->requested()) give_up("cancelled" + limits_.cancellation->reason());
    if (waited_s > look_at_s) {
      look_at_s = waited_s + look_every_s;
      if (limits_.peers->somebody_is_gone()) give_up("a worker's process has ended");
    }
    if (waited_s > limits_.stall_s) give_up(core::format("waited for {:.0f} s", waited_s));
    backoff.pause();
  }
}

}  // namespace paragrad::comm
