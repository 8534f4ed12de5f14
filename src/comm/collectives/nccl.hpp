#pragma once

#include <string>

#include "comm/operation.hpp"
#include "comm/wire.hpp"

namespace paragrad::comm {

/// How NCCL performs an operation, by its own cost model.
struct NcclChoice {
  std::string algorithm{};  ///< ring, tree, NVLS, NVLSTree
  std::string protocol{};   ///< LL, LL128, Simple; "" where there is one alone
  double time_s = 0;        ///< from when the last worker has come
  double sent_share = 0;    ///< bytes that a worker sends, per byte of its array
};

/// The fastest of ring, tree and NVLS with their protocols, by the formulas and constants with which NCCL 2.27 chooses
/// (src/graph/tuning.cc): a latency for each step, and the bandwidth of a ring or tree over all links of a node. CollNet and
/// PAT are left out. Sends and receives, of which all_to_all consists, are not in NCCL's model: they take as long as a
/// node's links need, and one step. Other traffic is ignored.
///
/// bytes  of a worker's whole array; of all_to_all the longer of those that it sends and receives
/// where  with `nccl`; its links inside a node carry `bytes_per_s` in each direction for each worker
NcclChoice nccl_choice(Operation operation, int workers, double bytes, const Surroundings& where);

}  // namespace paragrad::comm
