#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace paragrad::comm::collectives {

/// A reduction cuts long messages into segments of 256 kB: one is added while the next arrives, scratch memory stays small,
/// and a segment is still in the cache when it is added. (Shared memory, 2 ranks, 64 MB ring: 128 kB is as fast, 64 kB and
/// 1 MB take about 12 % longer, uncut stripes 55 %.)
inline constexpr std::size_t segment_floats = 65536;

/// Messages that a worker keeps in flight in each direction: one being added, one arriving.
inline constexpr std::size_t messages_in_flight = 2;

/// For short messages more are in flight, as many as fit into the scratch memory of two whole segments, so that their
/// latencies overlap.
inline std::size_t short_messages_in_flight(std::size_t floats) {
  constexpr std::size_t most = 64;
  return std::clamp(messages_in_flight * segment_floats / std::max<std::size_t>(floats, 1), messages_in_flight, most);
}

inline std::size_t segment_count(std::size_t length, std::size_t floats = segment_floats) {
  return (length + floats - 1) / floats;
}

/// Segment `index` of `all`; empty past its end.
template <class T>
std::span<T> segment_of(std::span<T> all, std::size_t index, std::size_t floats = segment_floats) {
  const std::size_t begin = std::min(index * floats, all.size());
  return all.subspan(begin, std::min(floats, all.size() - begin));
}

}  // namespace paragrad::comm::collectives
