#pragma once

#include <span>

#include "comm/communicator.hpp"

namespace paragrad::comm {

/// Broadcasts worker 0's array: afterwards `data` is the same on every worker. Collective: all call with the same length.
///
/// Scatter and all-gather (Barnett, Gupta, Payne, Shuler, van de Geijn & Watts, SC 1994): worker 0 gives half of the array
/// to worker 1, both give half of what they hold to workers 2 and 3, and so on; then recursive doubling collects the parts.
///
/// Steps     2 log2 p, with p the largest power of two <= n; one more if n > p.
/// Bytes     worker 0 sends 2 (p-1)/p * data.size_bytes(), half of it before the other workers can begin the all-gather;
///           every other worker receives about data.size_bytes(); workers p … n-1 receive the whole array at the end.
void broadcast(Communicator& comm, std::span<float> data);

}  // namespace paragrad::comm
