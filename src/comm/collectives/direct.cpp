#include <algorithm>
#include <limits>
#include <vector>

#include "backend/kernels/copy.hpp"
#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/receive_add.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {
namespace {

/// Every worker sends n-1 messages straight to the others (the linear or pairwise exchange of MPI libraries): fewest bytes
/// and one step, but n-1 messages per worker. Worker k begins with worker k+1 and has two messages in flight at a time, so
/// that each worker receives from few others at once. Empty parts and blocks are not sent.
///
/// Time      for n equal parts of b bytes and a link of bandwidth B per worker: about (n-1)·b/B from when the last worker
///           begins.
/// Memory    reduce_scatter: scratch for the n-1 addends of a part.
/// Order     of reduce_scatter: part k is ((x[k] + x[k-1]) + x[k-2]) + …, ranks modulo n.
class DirectExchange {
 public:
  explicit DirectExchange(Communicator& comm) : comm_(comm), rank_(comm.rank()), size_(comm.size()) {}

  /// outgoing(k), incoming(k): the message to and from worker k. Calls received(k), step by step, once that from k is there.
  template <class Outgoing, class Incoming, class Done>
  void run(Outgoing outgoing, Incoming incoming, Done received) {
    std::vector<Request> receives(static_cast<std::size_t>(size_));
    for (int step = 1; step < size_; ++step) {
      const std::span<float> into = incoming(before(step));
      if (!into.empty()) receives[step] = comm_.start_receive(before(step), collective_tag, into);
    }
    Sends sends(comm_);
    for (int step = 1; step < size_; ++step) {
      sends.finish_all_but(most_on_their_way - 1);
      sends.start(before(size_ - step), outgoing(before(size_ - step)));
    }
    for (int step = 1; step < size_; ++step) {
      if (incoming(before(step)).empty()) continue;
      comm_.wait(receives[step]);
      received(before(step));
    }
    sends.finish();
  }

 private:
  /// With more messages in flight, those to late workers would be overtaken and collide with others at the receiver.
  static constexpr std::size_t most_on_their_way = 2;

  /// The worker `back` ranks before this one.
  int before(int back) const { return (rank_ + size_ - back) % size_; }

  Communicator& comm_;
  int rank_;
  int size_;
};

void direct_all_gather(Communicator& comm, const Parts& parts, std::span<float> array) {
  const std::span<const float> mine = parts.of(comm.rank()).of(array);
  DirectExchange(comm).run([&](int) { return mine; }, [&](int from) { return parts.of(from).of(array); }, [](int) {});
}

void direct_reduce_scatter(Communicator& comm, const Parts& parts, std::span<float> array) {
  const std::span<float> mine = parts.of(comm.rank()).of(array);
  const std::span<float> arrived = comm.scratch(mine.size() * (static_cast<std::size_t>(comm.size()) - 1));
  const auto addend = [&](int from) {  // all but this worker's own
    return arrived.subspan(mine.size() * static_cast<std::size_t>(from < comm.rank() ? from : from - 1), mine.size());
  };
  DirectExchange(comm).run([&](int to) { return std::span<const float>(parts.of(to).of(array)); }, addend,
                           [&](int from) { comm.add(addend(from), mine); });
}

void direct_all_to_all(Communicator& comm, const AllToAll::Lengths& lengths, std::span<const float> send,
                       std::span<float> receive) {
  const int rank = comm.rank(), size = comm.size();
  const auto outgoing = neighbouring_ranges(size, [&](int to) { return lengths(rank, to); });
  const auto incoming = neighbouring_ranges(size, [&](int from) { return lengths(from, rank); });
  const auto own = static_cast<std::size_t>(rank);
  if (!outgoing[own].empty()) comm.run(backend::Copy{outgoing[own].of(send), incoming[own].of(receive)});
  DirectExchange(comm).run([&](int to) { return outgoing[static_cast<std::size_t>(to)].of(send); },
                           [&](int from) { return incoming[static_cast<std::size_t>(from)].of(receive); }, [](int) {});
}

Cost direct_cost(Operation operation, const CostModel& model) {
  const double part = model.bytes / model.workers;
  const int others = model.workers - 1, sums = operation == Operation::reduce_scatter ? 1 : 0;
  constexpr double all_in_flight = std::numeric_limits<double>::infinity();  // all receives are posted beforehand
  const double alone_s = burst_s(model.slowest_wire(), others, part, all_in_flight);
  const bool one_node = model.workers == model.workers_here();
  const double shared_s = one_node ? 0 : model.where.between.latency_s + model.between_nodes_s(part);
  return {1, count(model.workers) * count(others), whole(others * part), std::max(alone_s, shared_s),
          whole(sums * others * part)};
}

}  // namespace

Entry direct_entry() {
  return {.info = {.name = "direct",
                   .summary = "messages straight from every worker to every other; one step, many messages",
                   .source = "Thakur et al., IJHPCA 2005",
                   .formula = "reduce_scatter: L + (N-1)*n/N/B\n"
                              "all_gather: L + (N-1)*n/N/B\n"
                              "all_to_all: L + (N-1)*n/N/B"},
          .reduce_scatter = direct_reduce_scatter,
          .all_gather = direct_all_gather,
          .all_to_all = direct_all_to_all,
          .cost = direct_cost};
}

}  // namespace paragrad::comm::collectives
