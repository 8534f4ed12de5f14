#include "comm/parts.hpp"

#include <vector>

#include "comm/tags.hpp"

namespace paragrad::comm {
namespace {

/// The worker `back` ranks before this one.
std::size_t before(const Communicator& comm, int back) {
  return static_cast<std::size_t>((comm.rank() + comm.size() - back) % comm.size());
}

/// Messages in flight per worker; with more, those to late workers would be overtaken and collide with others at the
/// receiver.
constexpr std::size_t most_on_their_way = 2;

/// Runs n-1 steps, each with one message out and one in, then done(step), in order.
template <class Outgoing, class Incoming, class Done>
void talk_to_all(Communicator& comm, Outgoing outgoing, Incoming incoming, Done done) {
  std::vector<Request> receives, sends;
  for (int step = 1; step < comm.size(); ++step) {
    const std::size_t from = before(comm, step);
    receives.push_back(comm.start_receive(static_cast<int>(from), parts_tag, incoming(from, step)));
  }
  std::size_t over = 0;
  for (int step = 1; step < comm.size(); ++step) {
    const std::size_t to = before(comm, comm.size() - step);
    if (sends.size() == over + most_on_their_way) comm.wait(sends[over++]);
    sends.push_back(comm.start_send(static_cast<int>(to), parts_tag, outgoing(to)));
  }
  for (int step = 1; step < comm.size(); ++step) {
    comm.wait(receives[static_cast<std::size_t>(step - 1)]);
    done(step);
  }
  for (; over < sends.size(); ++over) comm.wait(sends[over]);
}

}  // namespace

void gather_parts(Communicator& comm, std::span<const core::Range> parts, std::span<float> array) {
  const std::span<const float> mine = parts[before(comm, 0)].of(array);
  talk_to_all(
      comm, [&](std::size_t) { return mine; }, [&](std::size_t from, int) { return parts[from].of(array); }, [](int) {});
}

void sum_parts(Communicator& comm, std::span<const core::Range> parts, std::span<float> array) {
  const std::span<float> mine = parts[before(comm, 0)].of(array);
  const std::span<float> arrived = comm.scratch(mine.size() * (static_cast<std::size_t>(comm.size()) - 1));
  const auto addend = [&](int step) {
    return arrived.subspan(mine.size() * static_cast<std::size_t>(step - 1), mine.size());
  };
  talk_to_all(
      comm, [&](std::size_t to) { return std::span<const float>(parts[to].of(array)); },
      [&](std::size_t, int step) { return addend(step); }, [&](int step) { comm.add(addend(step), mine); });
}

}  // namespace paragrad::comm
