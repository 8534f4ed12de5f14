#pragma once

#include <mpi.h>

#include <memory>

#include "comm/mpi/backoff.hpp"
#include "comm/mpi/peers.hpp"

namespace paragrad::comm {

/// What a rank knows about the node it runs on.
struct MpiNode {
  int workers_per_node;          ///< ranks of the first node, or 0 if some rank's node does not begin at a multiple of it
  std::shared_ptr<Peers> peers;  ///< with the processes of this node
  Patience patience;             ///< shorter if the node has more ranks than cores on which they may run
  int cores;                     ///< a rank's share of those; at least 1
};

/// From MPI's shared-memory groups. Collective over `comm`.
MpiNode explore_node(MPI_Comm comm);

}  // namespace paragrad::comm
