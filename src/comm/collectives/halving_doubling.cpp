#include <memory>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/collectives/exchange.hpp"
#include "comm/collectives/fold.hpp"
#include "comm/collectives/segments.hpp"

namespace paragrad::comm::collectives {
namespace {

/// Halving and doubling (Rabenseifner, ICCS 2004): the butterfly's peers, but each exchange halves what a worker is in
/// charge of, from the whole array with the nearest peer down to one part with the farthest; then the same way back.
///
/// Steps     2 log2 p, p the largest power of two in n; two more where n > p.
/// Bytes     every worker sends and receives 2 (p-1)/p * data.size_bytes(); folded pairs once more each way.
/// Order     the butterfly's, whoever computes the sum: a balanced tree over the ranks after folding.
class HalvingDoublingAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator& comm, std::size_t length) const override {
    const Fold fold(comm);
    return fold.outside() ? core::Range{} : halvings(fold, length).back().kept;
  }

  void reduce(Communicator& comm, std::span<float> data) const override {
    const Fold fold(comm);
    fold.in(comm, data);
    if (fold.outside()) return;
    for (const Halving& h : halvings(fold, data.size())) {
      if (h.peer == fold.rank) continue;
      const auto given = h.given.of(data);
      const auto kept = h.kept.of(data);
      const std::size_t count = segment_count(std::max(given.size(), kept.size()));
      exchange_and_add(comm, count, kept.size(), messages_in_flight, [&](std::size_t k) {
        return Exchange{h.peer, segment_of(given, k), h.peer, segment_of(kept, k)};
      });
    }
  }

  void gather(Communicator& comm, std::span<float> data) const override {
    const Fold fold(comm);
    if (!fold.outside()) {
      const auto steps = halvings(fold, data.size());
      for (auto h = steps.rbegin(); h != steps.rend(); ++h) {
        if (h->peer != fold.rank) exchange_in_place(comm, {h->peer, h->kept.of(data), h->peer, h->given.of(data)});
      }
    }
    fold.out(comm, data);
  }

 private:
  struct Halving {
    int peer;
    core::Range kept;
    core::Range given;
  };

  /// The first entry is the whole array, kept, with the worker itself as its peer.
  static std::vector<Halving> halvings(const Fold& fold, std::size_t length) {
    std::vector<Halving> steps{{fold.rank, {0, length}, {}}};
    std::size_t first = 0;  // of the parts that this worker is in charge of, out of fold.active
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
};

}  // namespace

std::unique_ptr<Allreduce> make_halving_doubling() { return std::make_unique<HalvingDoublingAllreduce>(); }

}  // namespace paragrad::comm::collectives
