#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace paragrad::comm {

/// How a reduction divides long arrays into segments, one of which is added while the next ones arrive: scratch memory stays
/// small, and a segment is still in the cache when it is added. The bits of a sum do not depend on it.
struct Segmentation {
  /// 256 kB. (Shared memory, 2 ranks, 64 MB ring: 128 kB is as fast, 64 kB and 1 MB take about 12 % longer, uncut stripes
  /// 55 %.)
  std::size_t segment_floats = 65536;

  std::size_t in_flight = 2;  ///< segments of a worker in each direction: one being added, the others arriving; at least 2

  std::size_t segments(std::size_t length) const { return (length + segment_floats - 1) / segment_floats; }

  /// Segment `index` of `all`; empty past its end.
  template <class T>
  std::span<T> segment(std::span<T> all, std::size_t index) const {
    const std::size_t begin = std::min(index * segment_floats, all.size());
    return all.subspan(begin, std::min(segment_floats, all.size() - begin));
  }

  /// How many messages of this length are in flight where one does not wait for another: as many as fit into the scratch
  /// memory of the whole segments, so that the latencies of short ones overlap.
  std::size_t messages_in_flight(std::size_t floats) const {
    constexpr std::size_t most = 64;
    return std::clamp(in_flight * segment_floats / std::max<std::size_t>(floats, 1), in_flight, std::max(in_flight, most));
  }
};

}  // namespace paragrad::comm
