#include <algorithm>
#include <bit>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/exchange.hpp"
#include "comm/collectives/fold.hpp"

namespace paragrad::comm::collectives {
namespace {

/// Butterfly, also recursive doubling (Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005, section 4.4): in round k the
/// workers whose ranks differ in bit k exchange and add their whole arrays. Fewest steps: best if latency dominates.
///
/// Steps     log2 p, with p the largest power of two <= n; one or two more if n > p.
/// Bytes     every worker sends and receives log2 p * data.size_bytes(); folded pairs once more.
/// Order     x[i] + x[p+i] first, then neighbours, pairs of neighbours, …: a balanced tree over the ranks. The two sides
///           of an exchange compute a + b and b + a, which give the same bits (counting all NaNs as equal).
class ButterflyAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator&, std::size_t length) const override { return {0, length}; }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    const Fold fold(comm);
    fold.in(comm, data);
    if (!fold.outside()) exchange(comm, fold, data);
    fold.out(comm, data);
  }

  void do_all_gather(Communicator&, std::span<float>) const override {}

  static void exchange(Communicator& comm, const Fold& fold, std::span<float> data) {
    const std::size_t rounds = std::countr_zero(static_cast<unsigned>(fold.active));
    const Segmentation& cut = comm.segmentation();
    const std::size_t segments = cut.segments(data.size());
    exchange_and_add(comm, rounds * segments, data.size(), segments, [&](std::size_t k) {
      const int peer = fold.rank ^ (1 << (k / segments));
      const auto segment = cut.segment(data, k % segments);
      return Exchange{peer, segment, peer, segment};
    });
  }
};

Cost butterfly_cost(Operation, const CostModel& model) {
  const int rounds = model.rounds(), outside = model.workers - model.active();
  Cost cost = model.folded();
  for (int k = 0; k < rounds; ++k) cost.time_s += model.exchange_s(1 << k, model.bytes);
  // Workers far from the folded ones are a step ahead and need no answer: fewer latencies, but as many messages.
  const int all_steps = cost.steps + rounds;
  cost.steps = outside == 0 ? rounds : 1 + std::max(rounds, 1 + log2_ceil(outside));
  cost.time_s -= (all_steps - cost.steps) * model.wire(model.active()).latency_s;
  cost.messages += count(model.active()) * count(rounds);
  cost.busiest_bytes += whole(rounds * model.bytes);
  cost.busiest_additions += whole(rounds * model.bytes);
  cost.owners = model.workers;
  return cost;
}

}  // namespace

Entry butterfly_entry() {
  return {.info = {.name = "butterfly",
                   .summary = "recursive doubling; fewest steps, sums complete on all workers at once",
                   .source = "Thakur et al., IJHPCA 2005",
                   .formula = "allreduce: (log2(P) + 2*F)*(L + n/B)"},
          .allreduce = make_plain<ButterflyAllreduce>,
          .cost = butterfly_cost};
}

}  // namespace paragrad::comm::collectives
