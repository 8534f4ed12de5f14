// mpiexec -n 2 bench_allreduce [algorithm]: an allreduce of ours against MPI_Allreduce, alternating in one run, so that a
// noisy neighbour disturbs both. Time of one call from a common start to the last worker's end.
#include "comm/allreduce.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_session.hpp"

using namespace paragrad;

namespace {

struct Times {
  std::vector<double> all_s;

  double best() const { return *std::min_element(all_s.begin(), all_s.end()); }
  double median() {
    std::nth_element(all_s.begin(), all_s.begin() + all_s.size() / 2, all_s.end());
    return all_s[all_s.size() / 2];
  }
};

double timed_s(comm::Communicator& comm, const comm::Allreduce& allreduce, std::span<float> data) {
  comm::barrier(comm);
  const double begin = comm.now_s();
  allreduce(comm, data);
  comm::barrier(comm);
  return comm.now_s() - begin;
}

void compare(comm::Communicator& comm, const std::string& name, std::size_t bytes, int repetitions) {
  const auto ours = comm::make_allreduce(name);
  const auto library = comm::make_allreduce("native");
  core::Arena arena = comm.device().allocate(bytes / sizeof(float));
  Times our_times, library_times;
  for (int i = -2; i < repetitions; ++i) {
    const double ours_s = timed_s(comm, *ours, arena.span());
    const double library_s = timed_s(comm, *library, arena.span());
    if (i < 0) continue;  // pages and connections are made on first use
    our_times.all_s.push_back(ours_s);
    library_times.all_s.push_back(library_s);
  }
  if (comm.rank() != 0) return;
  std::printf("%8zu kB  %s best %8.0f us median %8.0f us  MPI best %8.0f us median %8.0f us  times as fast: %.2f (%.2f)\n",
              bytes / 1024, name.c_str(), our_times.best() * 1e6, our_times.median() * 1e6, library_times.best() * 1e6,
              library_times.median() * 1e6, library_times.best() / our_times.best(),
              library_times.median() / our_times.median());
}

}  // namespace

int main(int count, char** arguments) {
  comm::MpiSession session;
  try {
    const auto device = backend::make_device("cpu");
    comm::MpiCommunicator comm(*device);
    const std::string name = count > 1 ? arguments[1] : "ring";
    compare(comm, name, std::size_t{256} << 10, 2000);
    compare(comm, name, std::size_t{4} << 20, 200);
    compare(comm, name, std::size_t{64} << 20, 20);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker %d: %s\n", session.rank(), error.what());
    session.abort(1);
  }
}
