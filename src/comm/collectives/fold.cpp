#include "comm/collectives/fold.hpp"

#include <bit>
#include <ranges>

#include "comm/collectives/exchange.hpp"
#include "comm/collectives/rooted.hpp"

namespace paragrad::comm::collectives {

Fold::Fold(const Communicator& comm)
    : active(static_cast<int>(std::bit_floor(static_cast<unsigned>(comm.size())))), rank(comm.rank()), partner(no_worker) {
  if (outside()) {
    partner = rank - active;
  } else if (rank + active < comm.size()) {
    partner = rank + active;
  }
}

void Fold::in(Communicator& comm, std::span<float> data) const {
  if (partner == no_worker) return;
  if (outside()) {
    send_segments(comm, partner, data);
  } else {
    add_from(comm, partner, data);
  }
}

void Fold::out(Communicator& comm, std::span<float> data) const {
  if (partner == no_worker) return;
  if (outside()) {
    exchange_in_place(comm, {.outgoing = {}, .from = partner, .incoming = data});
  } else {
    exchange_in_place(comm, {.to = partner, .outgoing = data, .incoming = {}});
  }
}

std::vector<Halving> halvings(const Fold& fold, std::size_t length) {
  std::vector<Halving> steps{{fold.rank, {0, length}, {}}};
  std::size_t first = 0;  // of this worker's parts, of fold.active parts in all
  std::size_t parts = fold.active;
  const auto range = [&](std::size_t begin, std::size_t count) {
    return core::Range{core::part_of(length, fold.active, begin).begin,
                       core::part_of(length, fold.active, begin + count - 1).end};
  };
  for (int bit = 1; bit < fold.active; bit *= 2) {
    parts /= 2;
    const std::size_t lower = first;
    const std::size_t upper = first + parts;
    const bool keeps_upper = (fold.rank & bit) != 0;
    first = keeps_upper ? upper : lower;
    steps.push_back({fold.rank ^ bit, range(first, parts), range(keeps_upper ? lower : upper, parts)});
  }
  return steps;
}

void double_back(Communicator& comm, std::span<const Halving> halvings, std::span<float> data) {
  for (const Halving& h : halvings | std::views::drop(1) | std::views::reverse)
    exchange_in_place(comm, {h.peer, h.kept.of(data), h.peer, h.given.of(data)});
}

}  // namespace paragrad::comm::collectives
