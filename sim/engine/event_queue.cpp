#include "sim/engine/event_queue.hpp"

#include <algorithm>

namespace paragrad::sim {
namespace {

bool comes_after(const Event& a, const Event& b) { return b.key < a.key; }
bool earlier(const Event& a, const Event& b) { return a.key < b.key; }

}  // namespace

// The lowest bucket that is not empty has the earliest event. That event's time becomes the base; then the others of the
// bucket differ from it in lower bits only.
void EventQueue::refill() {
  std::vector<Event>& bucket = buckets_[static_cast<std::size_t>(std::countr_zero(filled_))];
  filled_ &= filled_ - 1;
  instant_.clear();
  next_ = 0;
  base_ = std::min_element(bucket.begin(), bucket.end(), earlier)->key.time;
  for (const Event& event : bucket) event.key.time == base_ ? instant_.push_back(event) : append(event);
  bucket.clear();
  // Actors are mostly resumed in order, so their events mostly are.
  if (!std::is_sorted(instant_.begin(), instant_.end(), earlier)) std::sort(instant_.begin(), instant_.end(), earlier);
}

void EventQueue::push_late(const Event& event) {
  late_.push_back(event);
  std::push_heap(late_.begin(), late_.end(), comes_after);
}

Event EventQueue::pop_late() {
  std::pop_heap(late_.begin(), late_.end(), comes_after);
  const Event first = late_.back();
  late_.pop_back();
  return first;
}

}  // namespace paragrad::sim
