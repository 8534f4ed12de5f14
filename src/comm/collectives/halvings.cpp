#include "comm/collectives/halvings.hpp"

#include <ranges>

#include "comm/collectives/exchange.hpp"

namespace paragrad::comm::collectives {

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
