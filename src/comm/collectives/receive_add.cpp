#include "comm/collectives/receive_add.hpp"

#include <algorithm>
#include <utility>

namespace paragrad::comm::collectives {

ReceiveAdd::ReceiveAdd(Communicator& comm, std::size_t count, std::size_t largest,
                       std::function<Message(std::size_t)> message, std::size_t in_flight)
    : comm_(comm),
      count_(count),
      slots_(std::min(count, in_flight > 0 ? in_flight : comm.segmentation().in_flight)),
      slot_floats_(std::min(largest, comm.segmentation().segment_floats)),
      message_(std::move(message)),
      scratch_(comm.scratch(slots_ * slot_floats_)),
      arrivals_(slots_) {
  while (posted_ < slots_) post_next();
}

void ReceiveAdd::post_next() {
  Arrival& arrival = arrivals_[slot_to_post_];
  arrival.message = message_(posted_++);
  if (!arrival.message.into.empty())
    arrival.request = comm_.start_receive(arrival.message.from, arrival.message.tag, place(slot_to_post_));
  slot_to_post_ = next(slot_to_post_);
}

void ReceiveAdd::add_next() {
  const Arrival& arrival = arrivals_[slot_to_add_];
  if (!arrival.message.into.empty()) {
    comm_.wait(arrival.request);
    comm_.add(place(slot_to_add_), arrival.message.into);
  }
  slot_to_add_ = next(slot_to_add_);
  if (posted_ < count_) post_next();
}

void Sends::start(int to, std::span<const float> data, int tag) {
  if (!data.empty()) requests_.push_back(comm_.start_send(to, tag, data));
}

void Sends::finish_all_but(std::size_t count) {
  while (requests_.size() - first_ > count) comm_.wait(requests_[first_++]);
  if (2 * first_ < requests_.size()) return;
  requests_.erase(requests_.begin(), requests_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

}  // namespace paragrad::comm::collectives
