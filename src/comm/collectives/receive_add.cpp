#include "comm/collectives/receive_add.hpp"

#include <algorithm>
#include <utility>

namespace paragrad::comm::collectives {

ReceiveAdd::ReceiveAdd(Communicator& comm, std::size_t count, std::size_t largest,
                       std::function<Message(std::size_t)> message, std::size_t in_flight)
    : comm_(comm),
      count_(count),
      slots_(std::min(count, in_flight)),
      slot_floats_(std::min(largest, segment_floats)),
      message_(std::move(message)),
      scratch_(comm.scratch(slots_ * slot_floats_)),
      arrivals_(slots_) {
  while (posted_ < slots_) post_next();
}

std::span<float> ReceiveAdd::slot(std::size_t index, std::size_t length) {
  return scratch_.subspan(index % slots_ * slot_floats_, length);
}

void ReceiveAdd::post_next() {
  Arrival& arrival = arrivals_[posted_ % slots_];
  arrival.message = message_(posted_);
  if (!arrival.message.into.empty()) {
    const auto place = slot(posted_, arrival.message.into.size());
    arrival.request = comm_.start_receive(arrival.message.from, arrival.message.tag, place);
  }
  ++posted_;
}

void ReceiveAdd::add_next() {
  const Arrival& arrival = arrivals_[added_ % slots_];
  if (!arrival.message.into.empty()) {
    comm_.wait(arrival.request);
    comm_.add(slot(added_, arrival.message.into.size()), arrival.message.into);
  }
  ++added_;
  if (posted_ < count_) post_next();
}

void Sends::start(int to, std::span<const float> data, int tag) {
  if (!data.empty()) requests_.push_back(comm_.start_send(to, tag, data));
}

void Sends::finish_all_but(std::size_t count) {
  for (; requests_.size() > count; requests_.pop_front()) comm_.wait(requests_.front());
}

}  // namespace paragrad::comm::collectives
