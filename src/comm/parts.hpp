#pragma once

#include <span>

#include "comm/communicator.hpp"
#include "core/range.hpp"

namespace paragrad::comm {

/// Arrays that are cut into parts, one per worker, of whatever lengths: parts[k] is that of worker k. For a few workers
/// close together: everybody talks to everybody, n-1 messages out and n-1 in, none twice as far as needed. Worker k begins
/// with worker k+1 and has two messages on their way at a time, so that each worker receives from few others at once.
/// All workers call with the same parts, which cover `array` without overlap. Spans are memory of comm.device().
///
/// Time, for n alike parts of b bytes and a link of bandwidth B for each worker: about (n-1)·b/B from when the last begins.

/// Spreads what each worker holds of the array: afterwards all hold all of it.
/// Bytes: a worker sends its part n-1 times, and receives the others' once.
void gather_parts(Communicator& comm, std::span<const core::Range> parts, std::span<float> array);

/// Each worker holds an addend of the whole array; afterwards each holds the sum of all in its own part, and the rest of the
/// array as it was.
/// Bytes: a worker sends the others' parts once, and receives its own n-1 times.
/// Order: part k is ((x[k] + x[k-1]) + x[k-2]) + …, ranks modulo n.
void sum_parts(Communicator& comm, std::span<const core::Range> parts, std::span<float> array);

}  // namespace paragrad::comm
