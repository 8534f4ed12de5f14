#include "sim/alarms.hpp"

namespace paragrad::sim {
namespace {

// Behind all workers and behind the matching of receives from any source (see transport.cpp): the end of an instant.
constexpr std::uint32_t last_actor = EventKey::actors - 1;

}  // namespace

void Alarms::set(Time at, std::uint64_t waiting) {
  Alarm& alarm = alarms_[&engine_.current()];
  alarm.at = at;
  alarm.waiting = waiting;
  if (at < alarm.event_at) schedule(alarm);
}

void Alarms::clear() { alarms_[&engine_.current()].at = never; }

void Alarms::schedule(Alarm& alarm) {
  alarm.event_at = alarm.at;
  engine_.schedule(alarm.at, last_actor, *this, reinterpret_cast<std::uintptr_t>(&alarm));
}

void Alarms::fire(std::uint64_t argument) {
  Alarm& alarm = *reinterpret_cast<Alarm*>(static_cast<std::uintptr_t>(argument));
  if (alarm.event_at != engine_.now()) return;  // an earlier event has taken its place
  alarm.event_at = never;
  if (alarm.at == never) return;
  if (alarm.at > engine_.now()) return schedule(alarm);
  alarm.at = never;
  give_up_(alarm.waiting);
}

}  // namespace paragrad::sim
