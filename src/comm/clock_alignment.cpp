#include "comm/clock_alignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/tags.hpp"

namespace paragrad::comm {
namespace {

constexpr int rounds = 30;

void tell_the_time(Communicator& comm) {
  for (int peer = 1; peer < comm.size(); ++peer)
    for (int round = 0; round < rounds; ++round) {
      comm.receive(peer, clock_tag, std::span<std::byte>{});
      const double now_s = comm.now_s();
      comm.send(peer, clock_tag, std::as_bytes(std::span(&now_s, 1)));
    }
}

ClockOffset ask_the_time(Communicator& comm) {
  ClockOffset best{0, 0, std::numeric_limits<double>::infinity()};
  for (int round = 0; round < rounds; ++round) {
    double theirs_s = 0;
    const double sent_s = comm.now_s();
    comm.send(0, clock_tag, std::span<const std::byte>{});
    comm.receive(0, clock_tag, std::as_writable_bytes(std::span(&theirs_s, 1)));
    const double received_s = comm.now_s();
    const double error_s = (received_s - sent_s) / 2, middle_s = sent_s + error_s;
    if (error_s < best.error_s) best = {middle_s, theirs_s - middle_s, error_s};
  }
  return best;
}

}  // namespace

ClockOffset measure_clock_offset(Communicator& comm) {
  if (comm.rank() != 0) return ask_the_time(comm);
  tell_the_time(comm);
  return {comm.now_s(), 0, 0};
}

std::int64_t ClockAlignment::aligned(std::int64_t ps) const {
  const double time_s = static_cast<double>(ps) * 1e-12;
  const double length_s = after_.at_s - before_.at_s;
  const double share = length_s > 0 ? (time_s - before_.at_s) / length_s : 0;
  return ps + std::llround((before_.offset_s + share * (after_.offset_s - before_.offset_s)) * 1e12);
}

double ClockAlignment::error_s() const { return std::max(before_.error_s, after_.error_s); }

}  // namespace paragrad::comm
