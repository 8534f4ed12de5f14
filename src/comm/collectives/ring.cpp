#include <algorithm>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/exchange.hpp"

namespace paragrad::comm::collectives {
namespace {

/// Ring (Patarasuk & Yuan, JPDC 69(2), 2009): each part goes once around the ring of workers to accumulate its sum, and once
/// more to distribute it. No worker sends more than the minimum for an allreduce.
///
/// Steps     n-1 in each half, each with one part. A segment is forwarded as soon as it has been added, while the next
///           arrives.
/// Bytes     every worker sends and receives (n-1)/n * array.size_bytes() in each half, if the parts are equal.
/// Order     part c, owned by worker c: ((x[c+1] + x[c+2]) + …) + x[c], ranks modulo n.
struct Ring {
  Ring(const Communicator& comm, const Parts& parts_, std::span<float> all)
      : data(all),
        parts(parts_),
        size(comm.size()),
        rank(comm.rank()),
        left((comm.rank() + comm.size() - 1) % comm.size()),
        right((comm.rank() + 1) % comm.size()) {}

  /// The part of the worker `back` (0 … n) ranks before this one.
  std::span<float> part(std::size_t back) const { return parts.of(static_cast<int>((rank + size - back) % size)).of(data); }

  std::span<float> data;
  const Parts& parts;
  std::size_t size;
  std::size_t rank;
  int left;
  int right;
};

void ring_reduce_scatter(Communicator& comm, const Parts& parts, std::span<float> array) {
  const Ring ring(comm, parts, array);
  const Segmentation& cut = comm.segmentation();
  const std::size_t segments = cut.segments(parts.largest());
  const std::size_t count = (ring.size - 1) * segments;
  // What is sent in a step was added one step before: `segments` exchanges ago.
  exchange_and_add(comm, count, parts.largest(), segments, [&](std::size_t k) {
    const std::size_t step = k / segments;
    return Exchange{ring.right, cut.segment(ring.part(1 + step), k % segments), ring.left,
                    cut.segment(ring.part(2 + step), k % segments)};
  });
}

void ring_all_gather(Communicator& comm, const Parts& parts, std::span<float> array) {
  const Ring ring(comm, parts, array);
  for (std::size_t step = 0; step + 1 < ring.size; ++step) {
    exchange_in_place(comm, {ring.right, ring.part(step), ring.left, ring.part(1 + step)});
  }
}

class RingAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator& comm, std::size_t length) const override {
    return Parts::even(length, comm.size()).of(comm.rank());
  }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    ring_reduce_scatter(comm, Parts::even(data.size(), comm.size()), data);
  }
  void do_all_gather(Communicator& comm, std::span<float> data) const override {
    ring_all_gather(comm, Parts::even(data.size(), comm.size()), data);
  }
};

/// Each part passes all hops, one after the other; and the slowest link carries all parts, one after the other.
Cost ring_cost(Operation operation, const CostModel& model) {
  const int halves = operation == Operation::allreduce ? 2 : 1, sums = operation == Operation::all_gather ? 0 : 1;
  const int workers = model.workers, steps = halves * (workers - 1), here = model.workers_here();
  const double part = model.bytes / workers;
  const Wire& slow = model.slowest_wire();
  const double hop_s = workers == here ? message_s(slow, part)
                                       : (message_s(slow, part) + (here - 1) * message_s(model.where.inside, part)) / here;
  return {steps,
          count(workers) * count(steps),
          whole(steps * part),
          steps * std::max(hop_s, each_s(slow, part)),
          whole(sums * (workers - 1) * part),
          workers,
          workers};
}

}  // namespace

Entry ring_entry() {
  return {.info = {.name = "ring",
                   .summary = "stripes passed around a ring; fewest bytes",
                   .source = "Patarasuk and Yuan, JPDC 2009",
                   .formula = "allreduce: 2*(N-1)*(L + n/N/B)\n"
                              "reduce_scatter: (N-1)*(L + n/N/B)\n"
                              "all_gather: (N-1)*(L + n/N/B)"},
          .allreduce = make_plain<RingAllreduce>,
          .reduce_scatter = ring_reduce_scatter,
          .all_gather = ring_all_gather,
          .cost = ring_cost};
}

}  // namespace paragrad::comm::collectives
