#include "comm/broadcast.hpp"

#include <ranges>
#include <vector>

#include "comm/collectives/exchange.hpp"
#include "comm/collectives/halvings.hpp"

namespace paragrad::comm {
namespace {

using collectives::exchange_in_place;
using collectives::Fold;
using collectives::Halving;

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

void scatter_and_gather(Communicator& comm, std::span<float> data) {
  const Fold fold(comm);
  if (!fold.outside()) {
    const std::vector<Halving> halvings = collectives::halvings(fold, data.size());
    scatter(comm, fold, halvings, data);
    collectives::double_back(comm, halvings, data);
  }
  fold.out(comm, data);
}

}  // namespace

void broadcast(Communicator& comm, std::span<float> data) {
  if (!comm.shortcut(scatter_and_gather, data)) scatter_and_gather(comm, data);
}

}  // namespace paragrad::comm
