#include <ranges>
#include <vector>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/exchange.hpp"
#include "comm/collectives/fold.hpp"

namespace paragrad::comm::collectives {
namespace {

/// Worker r receives its range from the worker whose rank is r without its highest bit, before it forwards any of it.
void scatter(Communicator& comm, const Fold& fold, std::span<const Halving> halvings, std::span<float> data) {
  for (const Halving h : halvings | std::views::drop(1)) {
    const int bit = fold.rank ^ h.peer;
    if (fold.rank < bit)
      exchange_in_place(comm, {.to = h.peer, .outgoing = h.given.of(data), .incoming = {}});
    else if (fold.rank < 2 * bit)
      exchange_in_place(comm, {.outgoing = {}, .from = h.peer, .incoming = h.kept.of(data)});
  }
}

/// Scatter and all-gather (Barnett, Gupta, Payne, Shuler, van de Geijn & Watts, SC 1994): worker 0 gives half of the array
/// to worker 1, both give half of what they hold to workers 2 and 3, and so on; then recursive doubling collects the parts.
///
/// Steps     2 log2 p, with p the largest power of two <= n; one more if n > p.
/// Bytes     worker 0 sends 2 (p-1)/p * array.size_bytes(), half of it before the other workers can begin the all-gather;
///           every other worker receives about array.size_bytes(); workers p … n-1 receive the whole array at the end.
void scatter_and_gather(Communicator& comm, std::span<float> data) {
  const Fold fold(comm);
  if (!fold.outside()) {
    const std::vector<Halving> steps = halvings(fold, data.size());
    scatter(comm, fold, steps, data);
    double_back(comm, steps, data);
  }
  fold.out(comm, data);
}

/// All workers that hold something send at the same time in the scatter, as all do in the exchanges.
Cost scatter_and_gather_cost(Operation, const CostModel& model) {
  const int rounds = model.rounds();
  const Cost last = way_back(model.folded());
  Cost cost{2 * rounds + last.steps, count(model.active() - 1) + count(model.active()) * count(rounds) + last.messages, 0,
            last.time_s};
  double part = model.bytes;
  for (int k = 0; k < rounds; ++k) cost.time_s += 2 * model.exchange_s(1 << k, part /= 2);
  cost.busiest_bytes = whole(2 * (model.bytes - part)) + last.busiest_bytes;
  return cost;
}

}  // namespace

Entry scatter_all_gather_entry() {
  return {.info = {.name = "scatter_all_gather",
                   .summary = "scatters the array by halves and gathers it by recursive doubling; for long arrays",
                   .source = "Barnett et al., SC 1994",
                   .formula = "broadcast: 2*(log2(P)*L + (P-1)*n/P/B) + F*(L + n/B)"},
          .broadcast = scatter_and_gather,
          .cost = scatter_and_gather_cost};
}

}  // namespace paragrad::comm::collectives
