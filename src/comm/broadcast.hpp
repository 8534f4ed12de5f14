#pragma once

#include <span>

#include "comm/communicator.hpp"

namespace paragrad::comm {

/// Spreads worker 0's array: afterwards `data` is the same on every worker. Collective: all call with the same length.
///
/// Scatter and gather (Barnett, Gupta, Payne, Shuler, van de Geijn & Watts, SC 1994): worker 0 halves the array with worker
/// 1, both halve what they have with workers 2 and 3, and so on; then the parts are doubled on the way back.
///
/// Steps     2 log2 p, p the largest power of two in n; one more where n > p.
/// Bytes     worker 0 sends 2 (p-1)/p * data.size_bytes(), half of it before the others can begin to give back; every other
///           worker receives about data.size_bytes(); who is left over by p gets all of it at the end.
void broadcast(Communicator& comm, std::span<float> data);

}  // namespace paragrad::comm
