#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "backend/kernels/copy.hpp"
#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/exchange.hpp"
#include "comm/collectives/receive_add.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {
namespace {

/// Bruck's algorithms (Bruck, Ho, Kipnis, Upfal & Weathersby, IEEE TPDS 8(11), 1997): ceil(log2 n) steps for any number of
/// workers n, the least that one message at a time allows. In step d = 1, 2, 4, … each worker r communicates with r - d and
/// r + d modulo n.
///
/// all_gather      Worker r holds the parts r … r + d - 1 and receives the next ones from r + d. Fewest bytes too: each
///                 worker sends (n-1)/n * array.size_bytes(). Written in place, so parts that wrap around the end of the
///                 array are two messages.
/// reduce_scatter  The same in reverse (Träff, arXiv 2410.14234, 2024): for d = …, 4, 2, 1 worker r sends its sums of the
///                 parts r + d … r + 2d - 1 to r + d, which adds them to its own. As many bytes, and fewest additions.
///                 Order: part k at worker r is s[r], where s[r] += s[r-d] in each of the steps in which r and r - d both
///                 still hold it.
/// all_to_all      A block travels the distance i to its destination by the bits of i: with others it moves by d in each
///                 step whose bit is set. About log2(n)/2 times the bytes of `direct`, and each block is copied before it
///                 is sent. Scratch memory: log2(n) times the array.

/// Parts of an array that are neighbours modulo n: up to two spans.
class PartsInARow {
 public:
  PartsInARow(const Parts& parts, std::span<float> array, int first, int count, const Segmentation& cut) : cut_(cut) {
    const int head = std::min(count, parts.workers() - first);
    pieces_[0] = parts.between(first, head).of(array);
    if (head < count) pieces_[1] = parts.between(0, count - head).of(array);
  }

  std::span<float> piece(std::size_t i) const { return pieces_[i]; }
  std::size_t longest() const { return std::max(pieces_[0].size(), pieces_[1].size()); }
  std::size_t segments() const { return cut_.segments(pieces_[0].size()) + cut_.segments(pieces_[1].size()); }

  /// Segments of the first piece, then of the second; empty past their end.
  std::span<float> segment(std::size_t i) const {
    const std::size_t first = cut_.segments(pieces_[0].size());
    return i < first ? cut_.segment(pieces_[0], i) : cut_.segment(pieces_[1], i - first);
  }

 private:
  std::array<std::span<float>, 2> pieces_;
  Segmentation cut_;
};

void bruck_all_gather(Communicator& comm, const Parts& parts, std::span<float> array) {
  const int size = comm.size(), rank = comm.rank();
  for (int held = 1; held < size; held *= 2) {
    const int count = std::min(held, size - held), from = (rank + held) % size, to = (rank + size - held) % size;
    const PartsInARow outgoing(parts, array, rank, count, comm.segmentation());
    const PartsInARow incoming(parts, array, from, count, comm.segmentation());
    std::array<Request, 2> receives;
    for (std::size_t i = 0; i < 2; ++i)
      if (!incoming.piece(i).empty()) receives[i] = comm.start_receive(from, collective_tag, incoming.piece(i));
    Sends sends(comm);
    for (std::size_t i = 0; i < 2; ++i) sends.start(to, outgoing.piece(i));
    sends.finish();
    for (std::size_t i = 0; i < 2; ++i)
      if (!incoming.piece(i).empty()) comm.wait(receives[i]);
  }
}

void bruck_reduce_scatter(Communicator& comm, const Parts& parts, std::span<float> array) {
  const int size = comm.size(), rank = comm.rank();
  for (int held = std::bit_ceil(static_cast<unsigned>(size)) / 2; held > 0; held /= 2) {
    const int count = std::min(held, size - held), from = (rank + size - held) % size, to = (rank + held) % size;
    const PartsInARow outgoing(parts, array, to, count, comm.segmentation());
    const PartsInARow incoming(parts, array, rank, count, comm.segmentation());
    const std::size_t messages = std::max(outgoing.segments(), incoming.segments());
    if (messages == 0) continue;
    exchange_and_add(comm, messages, incoming.longest(), messages, [&](std::size_t k) {
      return Exchange{to, outgoing.segment(k), from, incoming.segment(k)};
    });
  }
}

/// The blocks that a worker holds in the course of an all_to_all, by the distance that each has to travel.
class TravellingBlocks {
 public:
  TravellingBlocks(const Communicator& comm, const AllToAll::Lengths& lengths)
      : lengths_(lengths), rank_(comm.rank()), size_(comm.size()), blocks_(static_cast<std::size_t>(comm.size())) {}

  /// Where the block that is to travel `distance` comes from, once it has travelled the bits `moved` of it.
  int source(int distance, int moved) const { return (rank_ + size_ - (distance & moved)) % size_; }

  std::size_t length(int distance, int moved) const {
    const int from = source(distance, moved);
    return lengths_(from, (from + distance) % size_);
  }

  /// Elements of all blocks that travel in the step `bit`.
  std::size_t length_of_step(int bit, int moved) const {
    std::size_t sum = 0;
    for (int i = bit; i < size_; ++i)
      if (i & bit) sum += length(i, moved);
    return sum;
  }

  std::span<const float>& at(int distance) { return blocks_[static_cast<std::size_t>(distance)]; }

 private:
  const AllToAll::Lengths& lengths_;
  int rank_;
  int size_;
  std::vector<std::span<const float>> blocks_;
};

/// Collects copies of blocks, of which neighbours in memory are made as one.
class BlockCopies {
 public:
  void add(std::span<const float> from, std::span<float> to) {
    if (from.empty()) return;
    if (!copies_.empty()) {
      auto& [last_from, last_to] = copies_.back();
      if (last_from.data() + last_from.size() == from.data() && last_to.data() + last_to.size() == to.data()) {
        last_from = {last_from.data(), last_from.size() + from.size()};
        last_to = {last_to.data(), last_to.size() + to.size()};
        return;
      }
    }
    copies_.push_back({from, to});
  }

  void make(Communicator& comm) {
    if (copies_.empty()) return;
    comm.run_kernels([&](backend::KernelQueue& queue) {
      for (const auto& [from, to] : copies_) queue.run(backend::Copy{from, to});
    });
    copies_.clear();
  }

 private:
  std::vector<std::pair<std::span<const float>, std::span<float>>> copies_;
};

void bruck_all_to_all(Communicator& comm, const AllToAll::Lengths& lengths, std::span<const float> send,
                      std::span<float> receive) {
  const int size = comm.size(), rank = comm.rank();
  TravellingBlocks blocks(comm, lengths);
  const auto outgoing = neighbouring_ranges(size, [&](int to) { return lengths(rank, to); });
  for (int i = 0; i < size; ++i) blocks.at(i) = outgoing[static_cast<std::size_t>((rank + i) % size)].of(send);

  // The highest bit first: then many blocks that travel together are neighbours in memory.
  const int highest = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)) / 2);
  std::size_t needed = 0;
  for (int bit = highest, moved = 0; bit > 0; moved |= bit, bit /= 2)
    needed += blocks.length_of_step(bit, moved) + blocks.length_of_step(bit, moved | bit);
  std::span<float> scratch = comm.scratch(needed);
  const auto take = [&](std::size_t count) {
    const auto taken = scratch.first(count);
    scratch = scratch.subspan(count);
    return taken;
  };

  BlockCopies copies;
  for (int bit = highest, moved = 0; bit > 0; moved |= bit, bit /= 2) {
    const auto out = take(blocks.length_of_step(bit, moved)), in = take(blocks.length_of_step(bit, moved | bit));
    std::size_t packed = 0, arrived = 0;
    for (int i = bit; i < size; ++i) {
      if ((i & bit) == 0) continue;
      copies.add(blocks.at(i), out.subspan(packed, blocks.at(i).size()));
      packed += blocks.at(i).size();
      blocks.at(i) = in.subspan(arrived, blocks.length(i, moved | bit));
      arrived += blocks.at(i).size();
    }
    copies.make(comm);
    exchange_in_place(comm, {(rank + bit) % size, out, (rank + size - bit) % size, in});
  }

  const auto incoming = neighbouring_ranges(size, [&](int from) { return lengths(from, rank); });
  for (int i = 0; i < size; ++i)
    copies.add(blocks.at(i), incoming[static_cast<std::size_t>((rank + size - i) % size)].of(receive));
  copies.make(comm);
}

Cost bruck_all_to_all_cost(const CostModel& model) {
  Cost cost{log2_ceil(model.workers), count(model.workers) * count(log2_ceil(model.workers))};
  double sent = 0;
  for (int bit = 1; bit < model.workers; bit *= 2) {
    int blocks = 0;
    for (int distance = bit; distance < model.workers; ++distance) blocks += (distance & bit) != 0 ? 1 : 0;
    cost.time_s += model.shift_s(bit, blocks * model.bytes / model.workers);
    sent += blocks * model.bytes / model.workers;
  }
  cost.busiest_bytes = whole(sent);
  return cost;
}

/// Parts that wrap around the end of the array are two messages: of c parts those of c - 1 workers.
Cost bruck_cost(Operation operation, const CostModel& model) {
  if (operation == Operation::all_to_all) return bruck_all_to_all_cost(model);
  const double part = model.bytes / model.workers;
  const int others = model.workers - 1, sums = operation == Operation::reduce_scatter ? 1 : 0;
  Cost cost{log2_ceil(model.workers), 0, whole(others * part), 0, whole(sums * others * part)};
  for (int distance = 1; distance < model.workers; distance *= 2) {
    const int parts = std::min(distance, model.workers - distance);
    cost.messages += count(model.workers) + count(parts - 1);
    cost.time_s += model.shift_s(distance, parts * part);
  }
  return cost;
}

}  // namespace

Entry bruck_entry() {
  return {.info = {.name = "bruck",
                   .summary = "fewest steps, for any number of workers; all_to_all sends more bytes for it",
                   .source = "Bruck et al., IEEE TPDS 1997; reduce_scatter: Träff, 2024",
                   .formula = "reduce_scatter: ceil2*L + (N-1)*n/N/B\n"
                              "all_gather: ceil2*L + (N-1)*n/N/B\n"
                              "all_to_all: ceil2*L + ones*n/N/B"},
          .reduce_scatter = bruck_reduce_scatter,
          .all_gather = bruck_all_gather,
          .all_to_all = bruck_all_to_all,
          .cost = bruck_cost};
}

}  // namespace paragrad::comm::collectives
