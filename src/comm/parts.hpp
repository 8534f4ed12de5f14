#pragma once

#include <span>

#include "comm/communicator.hpp"
#include "core/range.hpp"

namespace paragrad::comm {

/// Collectives on arrays cut into one part per worker, of any lengths: parts[k] belongs to worker k. For a few workers close
/// together: every worker sends n-1 messages directly to the others and receives n-1. Worker k begins with worker k+1 and
/// has two messages in flight at a time, so that each worker receives from few others at once. All workers call with the
/// same parts, which cover `array` without overlap. Spans are memory of comm.device().
///
/// Time, for n equal parts of b bytes and a link of bandwidth B per worker: about (n-1)·b/B from when the last worker
/// begins.

/// All-gather: each worker starts with its own part; afterwards all hold the whole array.
/// Bytes: a worker sends its part n-1 times and receives each other part once.
void gather_parts(Communicator& comm, std::span<const core::Range> parts, std::span<float> array);

/// Reduce-scatter: each worker starts with an addend for the whole array; afterwards its own part holds the sum over all
/// workers, and the rest of its array is unchanged.
/// Bytes: a worker sends each other part once and receives its own n-1 times.
/// Order: part k is ((x[k] + x[k-1]) + x[k-2]) + …, ranks modulo n.
void sum_parts(Communicator& comm, std::span<const core::Range> parts, std::span<float> array);

}  // namespace paragrad::comm
