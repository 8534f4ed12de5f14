#include <algorithm>
#include <memory>

#include "comm/allreduce.hpp"
#include "comm/collectives/exchange.hpp"
#include "comm/collectives/segments.hpp"

namespace paragrad::comm::collectives {
namespace {

/// Ring (Patarasuk & Yuan, JPDC 69(2), 2009): the array is cut into n stripes; each goes once around the ring to accumulate
/// its sum, and once more to distribute it. No worker sends more than the minimum for an allreduce.
///
/// Steps     2 (n-1), each with one stripe. A segment is forwarded as soon as it has been added, while the next arrives.
/// Bytes     every worker sends and receives 2 (n-1)/n * data.size_bytes().
/// Order     stripe c, owned by worker c: ((x[c+1] + x[c+2]) + …) + x[c], ranks modulo n.
class RingAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator& comm, std::size_t length) const override {
    return core::part_of(length, comm.size(), comm.rank());
  }

  void reduce_scatter(Communicator& comm, std::span<float> data) const override {
    const Ring ring(comm, data);
    const std::size_t largest = (data.size() + ring.size - 1) / ring.size;
    const std::size_t segments = segment_count(largest);
    const std::size_t count = (ring.size - 1) * segments;
    // What is sent in a step was added one step before: `segments` exchanges ago.
    exchange_and_add(comm, count, largest, segments, [&](std::size_t k) {
      const std::size_t step = k / segments;
      return Exchange{ring.right, segment_of(ring.stripe(1 + step), k % segments), ring.left,
                      segment_of(ring.stripe(2 + step), k % segments)};
    });
  }

  void all_gather(Communicator& comm, std::span<float> data) const override {
    const Ring ring(comm, data);
    for (std::size_t step = 0; step + 1 < ring.size; ++step) {
      exchange_in_place(comm, {ring.right, ring.stripe(step), ring.left, ring.stripe(1 + step)});
    }
  }

 private:
  struct Ring {
    Ring(const Communicator& comm, std::span<float> all)
        : data(all),
          size(comm.size()),
          rank(comm.rank()),
          left((comm.rank() + comm.size() - 1) % comm.size()),
          right((comm.rank() + 1) % comm.size()) {}

    /// The stripe of the worker `back` (0 … n) ranks before this one.
    std::span<float> stripe(std::size_t back) const {
      return core::part_of(data.size(), size, (rank + size - back) % size).of(data);
    }

    std::span<float> data;
    std::size_t size;
    std::size_t rank;
    int left;
    int right;
  };
};

}  // namespace

std::unique_ptr<Allreduce> make_ring() { return std::make_unique<RingAllreduce>(); }

}  // namespace paragrad::comm::collectives
