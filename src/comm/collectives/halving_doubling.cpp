#include <memory>
#include <vector>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/exchange.hpp"
#include "comm/collectives/fold.hpp"

namespace paragrad::comm::collectives {
namespace {

/// Recursive halving and doubling (Rabenseifner, ICCS 2004): the butterfly's peers, but each exchange halves the range a
/// worker reduces, from the whole array with the nearest peer down to one part with the farthest; then recursive doubling in
/// reverse.
///
/// Steps     2 log2 p, with p the largest power of two <= n; two more if n > p.
/// Bytes     every worker sends and receives 2 (p-1)/p * data.size_bytes(); folded pairs once more each way.
/// Order     the butterfly's, whichever worker computes the sum: a balanced tree over the ranks after folding.
class HalvingDoublingAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator& comm, std::size_t length) const override {
    const Fold fold(comm);
    return fold.outside() ? core::Range{} : halvings(fold, length).back().kept;
  }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    const Fold fold(comm);
    const Segmentation& cut = comm.segmentation();
    fold.in(comm, data);
    if (fold.outside()) return;
    for (const Halving& h : halvings(fold, data.size())) {
      if (h.peer == fold.rank) continue;
      const auto given = h.given.of(data);
      const auto kept = h.kept.of(data);
      const std::size_t count = cut.segments(std::max(given.size(), kept.size()));
      const auto exchange = [&](std::size_t k) {
        return Exchange{h.peer, cut.segment(given, k), h.peer, cut.segment(kept, k)};
      };
      const std::size_t whole_segments = std::min(given.size(), kept.size()) / cut.segment_floats;
      exchange_and_add(comm, count, kept.size(), cut.in_flight, exchange, whole_segments);
    }
  }

  void do_all_gather(Communicator& comm, std::span<float> data) const override {
    const Fold fold(comm);
    if (!fold.outside()) double_back(comm, halvings(fold, data.size()), data);
    fold.out(comm, data);
  }
};

Cost halving_doubling_cost(Operation, const CostModel& model) {
  Cost cost = model.folded();
  double half = model.bytes;
  for (int k = 0; k < model.rounds(); ++k) cost.time_s += 2 * model.exchange_s(1 << k, half /= 2);
  cost.steps += 2 * model.rounds();
  cost.messages += 2 * count(model.active()) * count(model.rounds());
  cost.busiest_bytes += whole(2 * (model.bytes - half));
  cost.busiest_additions += whole(model.bytes - half);
  cost.parts = cost.owners = model.active();
  return cost;
}

}  // namespace

Entry halving_doubling_entry() {
  return {.info = {.name = "halving_doubling",
                   .summary = "recursive halving and doubling; few steps and fewest bytes",
                   .source = "Rabenseifner, ICCS 2004",
                   .formula = "allreduce: 2*log2(P)*L + 2*(P-1)*n/P/B + 2*F*(L + n/B)"},
          .allreduce = make_plain<HalvingDoublingAllreduce>,
          .cost = halving_doubling_cost};
}

}  // namespace paragrad::comm::collectives
