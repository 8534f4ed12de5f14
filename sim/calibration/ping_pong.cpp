#include "sim/calibration/ping_pong.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "backend/kernels/fill.hpp"
#include "sim/calibration/timing.hpp"

namespace paragrad::sim::calibration {
namespace {

constexpr int tag = 1;

/// Successive ranges of memory to send from and receive into: a model of some MB does not fit into the innermost cache
/// either.
class Buffers {
 public:
  Buffers(comm::Communicator& comm, std::size_t largest_bytes)
      : arena_(comm.device().allocate(std::max<std::size_t>(4'000'000, 2 * (largest_bytes / sizeof(float) + 1)))) {
    comm.device().run(backend::Fill{1, arena_.span()});
  }

  std::span<std::byte> next(std::size_t bytes) {
    const auto all = std::as_writable_bytes(arena_.span());
    if (at_ + bytes > all.size()) at_ = 0;
    const auto found = all.subspan(at_, bytes);
    constexpr std::size_t line = 64;
    at_ += (bytes + line - 1) / line * line;
    return found;
  }

 private:
  core::Arena arena_;
  std::size_t at_ = 0;
};

/// Runs `action` at the two workers, with the peer; the others do nothing.
template <class Action>
double pair_s(comm::Communicator& comm, const PingPongOptions& options, const Action& action) {
  const int peer = comm.rank() == options.first ? options.second : comm.rank() == options.second ? options.first : -1;
  return mean_call_s(comm, options.burst_s, [&](int calls) {
    for (int call = 0; call < calls && peer >= 0; ++call) action(peer);
  });
}

void round_trip(comm::Communicator& comm, Buffers& buffers, int peer, std::size_t bytes, bool begins) {
  if (begins) comm.send(peer, tag, std::span<const std::byte>(buffers.next(bytes)));
  comm.receive(peer, tag, buffers.next(bytes));
  if (!begins) comm.send(peer, tag, std::span<const std::byte>(buffers.next(bytes)));
}

void exchange(comm::Communicator& comm, Buffers& buffers, int peer, std::size_t bytes) {
  const comm::Request receive = comm.start_receive(peer, tag, buffers.next(bytes));
  comm.send(peer, tag, std::span<const std::byte>(buffers.next(bytes)));
  comm.wait(receive);
}

/// What worker `from` holds, at every worker.
void spread(comm::Communicator& comm, int from, std::span<double> values) {
  if (comm.rank() != from) std::ranges::fill(values, 0.);
  comm::sum_in_rank_order(comm, values);
}

}  // namespace

std::vector<MessagePoint> ping_pong(comm::Communicator& comm, const std::vector<std::size_t>& lengths,
                                    const PingPongOptions& options) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  std::vector<double> one_way(lengths.size(), unknown), both(lengths.size(), unknown);
  Buffers buffers(comm, *std::ranges::max_element(lengths));
  const bool begins = comm.rank() == options.first;
  for (int pass = 0; pass < options.passes; ++pass)
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const auto to_and_fro = [&](int peer) { round_trip(comm, buffers, peer, lengths[i], begins); };
      const auto at_once = [&](int peer) { exchange(comm, buffers, peer, lengths[i]); };
      one_way[i] = std::min(one_way[i], pair_s(comm, options, to_and_fro) / 2);
      both[i] = std::min(both[i], pair_s(comm, options, at_once));
    }
  spread(comm, options.first, one_way);
  spread(comm, options.first, both);
  std::vector<MessagePoint> points;
  for (std::size_t i = 0; i < lengths.size(); ++i) points.push_back({lengths[i], one_way[i], both[i]});
  return points;
}

std::size_t eager_bytes(comm::Communicator& comm, int first, int second, std::size_t most) {
  constexpr auto late = std::chrono::milliseconds(4);
  Buffers buffers(comm, most);
  const auto waits = [&](std::size_t bytes) {
    double waited_s = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < 3; ++attempt) {
      comm::barrier(comm);
      const double begin_s = comm.now_s();
      if (comm.rank() == first) comm.send(second, tag, std::span<const std::byte>(buffers.next(bytes)));
      waited_s = std::min(waited_s, comm.now_s() - begin_s);
      if (comm.rank() == second) {
        std::this_thread::sleep_for(late);
        comm.receive(first, tag, buffers.next(bytes));
      }
    }
    spread(comm, first, {&waited_s, 1});
    return waited_s > std::chrono::duration<double>(late).count() / 2;
  };
  if (waits(0)) return 0;
  std::size_t sent = 0, waiting = 1;
  while (waiting <= most && !waits(waiting)) sent = waiting, waiting *= 2;
  if (waiting > most) return most;
  while (waiting - sent > std::max<std::size_t>(1, sent / 256)) {
    const std::size_t middle = sent + (waiting - sent) / 2;
    (waits(middle) ? waiting : sent) = middle;
  }
  return sent;
}

std::vector<double> allreduce_times(comm::Communicator& comm, std::string_view collective,
                                    const std::vector<std::size_t>& floats, const PingPongOptions& options) {
  const auto allreduce = comm::make_allreduce(collective);
  core::Arena arena = comm.device().allocate(*std::ranges::max_element(floats));
  std::vector<double> times(floats.size(), std::numeric_limits<double>::infinity());
  for (int pass = 0; pass < options.passes; ++pass)
    for (std::size_t i = 0; i < floats.size(); ++i)
      times[i] = std::min(times[i], mean_call_s(comm, options.burst_s, [&](int calls) {
                            for (int call = 0; call < calls; ++call) (*allreduce)(comm, arena.span().first(floats[i]));
                          }));
  spread(comm, 0, times);
  return times;
}

std::vector<std::size_t> message_lengths(std::size_t most) {
  std::vector<std::size_t> lengths{0};
  const double per_octave = 3;
  for (double exponent = 0;; exponent += exponent < 16 ? 1 : 1 / per_octave) {
    const auto length = static_cast<std::size_t>(std::llround(std::exp2(exponent) / 4) * 4);
    if (length > most) return lengths;
    if (length > lengths.back()) lengths.push_back(length);
  }
}

}  // namespace paragrad::sim::calibration
