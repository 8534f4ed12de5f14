#include "sim/messages/timeouts.hpp"

namespace paragrad::sim {
namespace {

// After all workers and after the matching of receives from any source (see transport.cpp): the end of an instant.
constexpr std::uint32_t last_actor = EventKey::actors - 1;

}  // namespace

void Timeouts::set(Time at, std::uint64_t waiting) {
  Timeout& timeout = timeouts_[&engine_.current()];
  timeout.at = at;
  timeout.waiting = waiting;
  if (at < timeout.event_at) schedule(timeout);
}

void Timeouts::clear() { timeouts_[&engine_.current()].at = never; }

void Timeouts::schedule(Timeout& timeout) {
  timeout.event_at = timeout.at;
  engine_.schedule(timeout.at, last_actor, *this, reinterpret_cast<std::uintptr_t>(&timeout));
}

void Timeouts::fire(std::uint64_t argument) {
  Timeout& timeout = *reinterpret_cast<Timeout*>(static_cast<std::uintptr_t>(argument));
  if (timeout.event_at != engine_.now()) return;  // an earlier event has taken its place
  timeout.event_at = never;
  if (timeout.at == never) return;
  if (timeout.at > engine_.now()) return schedule(timeout);
  timeout.at = never;
  give_up_(timeout.waiting);
}

}  // namespace paragrad::sim
