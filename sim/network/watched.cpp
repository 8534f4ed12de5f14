#include "sim/network/watched.hpp"

namespace paragrad::sim {

Time WatchedNetwork::start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) {
  if (unused_.empty()) {
    unused_.push_back(flights_.size());
    flights_.emplace_back();
  }
  const std::uint64_t flight = unused_.back();
  unused_.pop_back();
  flights_[flight] = {{from, to, bytes, engine_.now(), 0}, &receiver, message, 2};
  const Time over = inner_->start(from, to, bytes, *this, flight);
  if (over != never) told(flight);  // then sent() will not be called
  return over;
}

void WatchedNetwork::arrives(std::uint64_t flight, Time at) {
  Flight& arriving = flights_[flight];
  arriving.transfer.end_ps = at;
  on_transfer_(arriving.transfer);
  arriving.receiver->arrives(arriving.message, at);
  told(flight);
}

void WatchedNetwork::sent(std::uint64_t flight, Time at) {
  flights_[flight].receiver->sent(flights_[flight].message, at);
  told(flight);
}

void WatchedNetwork::told(std::uint64_t flight) {
  if (--flights_[flight].untold == 0) unused_.push_back(flight);
}

}  // namespace paragrad::sim
