// Under mpiexec -n 3, with a fake GPU per rank: an allreduce between devices that rank 2 does not join, and that rank 1
// gives up, ends on all ranks, and their devices can release memory. Exits with 1 and says what differs; a rank that hangs
// is the test's timeout.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "backend/device_array.hpp"
#include "comm/allreduce.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "core/format.hpp"

using namespace paragrad;

namespace {

void require(bool holds, const std::string& claim) {
  if (!holds) throw comm::Failure(claim);
}

std::string error_of_sum(comm::Communicator& comm, std::span<float> data) {
  try {
    comm.library_routine(comm::Library::device, comm::Operation::allreduce, data, data);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void try_to_sum(comm::Communicator& comm, backend::Device& device) {
  auto data = backend::on_device(device, std::span<const float>(std::vector<float>(1000, 1.f)));
  require(error_of_sum(comm, data.span()).empty(), "three ranks sum");
  std::vector<float> sums(data.size());
  device.transfer(std::span<const float>(data.span()), std::span(sums));
  require(std::ranges::all_of(sums, [](float sum) { return sum == 3; }), "a sum over three ranks has their numbers");
  if (comm.rank() == 2) return;
  const std::string error = error_of_sum(comm, data.span());
  const std::string expected =
      comm.rank() == 1 ? "worker 1: allreduce between devices: waited for 0 s" : "NCCL failed: remote process exited";
  require(error.starts_with(expected), "a sum that is given up tells why: " + error);
  data = {};  // does not return while the device is busy
  std::vector<float> more(10);
  require(error_of_sum(comm, more) == core::format("worker {}: an earlier allreduce between devices failed", comm.rank()),
          "there is no sum after one that has failed");
}

}  // namespace

int main() {
  comm::MpiSession session;
  try {
    const auto device = backend::make_device("cuda");
    comm::MpiCommunicator comm(*device, session.rank() == 1 ? 0.3 : 300);
    try_to_sum(comm, *device);
    comm::MpiCommunicator patient(*device);
    comm::barrier(patient);
    if (comm.rank() == 0) std::printf("all of it holds\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker %d: %s\n", session.rank(), error.what());
    session.abort(1);
  }
}
