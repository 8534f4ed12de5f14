#pragma once

namespace paragrad::comm {

/// What all workers do together on arrays: see comm/operations.hpp.
enum class Operation { allreduce, reduce_scatter, all_gather, broadcast, all_to_all };

}  // namespace paragrad::comm
