#include "comm/mpi/mpi_node.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "comm/mpi/mpi_call.hpp"
#include "system/cores.hpp"

namespace paragrad::comm {
namespace {

/// What each rank of a node tells the others.
struct Introduction {
  std::int64_t rank;
  ProcessIdentity process;
  cpu_set_t cores;  ///< that it may run on; none on a machine with more than CPU_SETSIZE
  system::CoreQuota quota;
};

Introduction introduction_of(int rank) {
  Introduction mine{rank, this_process(), {}, system::core_quota()};
  sched_getaffinity(0, sizeof mine.cores, &mine.cores);
  return mine;
}

/// Of the ranks of a node together; 0 if unknown.
std::size_t cores_of(const std::vector<Introduction>& ranks) {
  cpu_set_t cores{};
  std::map<std::uint64_t, double> quotas;  // by the group that has them
  for (const Introduction& each : ranks) {
    CPU_OR(&cores, &cores, &each.cores);
    quotas[each.quota.group] = each.quota.cores;
  }
  double quota = 0;
  for (const auto& [_, of_group] : quotas) quota += of_group;
  const int count = CPU_COUNT(&cores);
  return count == 0 ? 0 : static_cast<std::size_t>(system::within_quota(count, quota));
}

}  // namespace

MpiNode explore_node(MPI_Comm comm) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const auto check = [rank](int code, const char* doing) {
    if (code != MPI_SUCCESS) throw_mpi_failure(rank, doing, code);
  };
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  int first = rank, here = 1, place = 0;
  check(MPI_Bcast(&first, 1, MPI_INT, 0, node), "MPI_Bcast");
  check(MPI_Comm_size(node, &here), "MPI_Comm_size");
  check(MPI_Comm_rank(node, &place), "MPI_Comm_rank");
  const Introduction mine = introduction_of(rank);
  std::vector<Introduction> ranks(static_cast<std::size_t>(here));
  constexpr int bytes = sizeof(Introduction);
  check(MPI_Allgather(&mine, bytes, MPI_BYTE, ranks.data(), bytes, MPI_BYTE, node), "MPI_Allgather");
  check(MPI_Comm_free(&node), "MPI_Comm_free");
  int per_node = here;
  check(MPI_Bcast(&per_node, 1, MPI_INT, 0, comm), "MPI_Bcast");
  int in_order = first == rank / per_node * per_node && rank == first + place;
  check(MPI_Allreduce(MPI_IN_PLACE, &in_order, 1, MPI_INT, MPI_LAND, comm), "MPI_Allreduce");

  const auto peers = std::make_shared<Peers>(size);
  for (const Introduction& each : ranks) peers->introduce(static_cast<int>(each.rank), each.process);
  const std::size_t cores = cores_of(ranks);
  return {in_order ? per_node : 0, peers, cores > 0 && ranks.size() > cores ? Patience::of_sharers() : Patience{},
          static_cast<int>(std::max<std::size_t>(1, cores / ranks.size()))};
}

}  // namespace paragrad::comm
