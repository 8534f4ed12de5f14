#include "strategies/parameter_server/server.hpp"

#include <algorithm>

namespace paragrad::strategies {

void Server::start(backend::Device& device, std::vector<core::Matrix> layout, std::size_t parameters) {
  shard_ = std::make_unique<Shard>(device, rule_, std::move(layout), parameters, memory_);
  begin_epoch();
}

// In a prescribed order the policy has already decided.
bool Server::may_fetch(int worker, std::uint64_t version) const {
  return order_.prescribed() ? order_.admits(Event::Kind::fetch, worker) : policy_->answers(*shard_, worker, version);
}

void Server::push(comm::Communicator& comm, const Push& push) {
  order_.note({Event::Kind::push, push.worker, push.version});
  const std::uint64_t staleness = shard_->version() - push.version;
  if (policy_->push(comm, *shard_, push))
    statistics_.count(staleness);
  else
    ++statistics_.dropped;
}

std::uint64_t Server::fetch(int worker) {
  order_.note({Event::Kind::fetch, worker, shard_->version()});
  return shard_->version();
}

std::uint64_t Server::take(int worker, std::uint64_t done) {
  order_.note({Event::Kind::take, worker, next_split_});
  ++progress(worker).taken;
  progress(worker).done = done;
  return next_split_++;
}

bool Server::meet(comm::Communicator& comm, int worker) {
  order_.note({Event::Kind::meet, worker, shard_->version()});
  progress(worker).met = true;
  policy_->leave(comm, *shard_, worker, false);
  return all_met();
}

bool Server::lose(comm::Communicator& comm, int worker) {
  order_.note({Event::Kind::lose, worker, shard_->version()});
  WorkerProgress& gone = progress(worker);
  gone.lost = true;
  ++statistics_.workers_lost;
  statistics_.splits_lost += gone.taken - gone.done;
  policy_->leave(comm, *shard_, worker, true);
  return all_met();
}

bool Server::all_met() {
  if (!std::ranges::all_of(progress_, [](const WorkerProgress& progress) { return progress.met || progress.lost; }))
    return false;
  begin_epoch();
  return true;
}

void Server::begin_epoch() {
  next_split_ = 0;
  for (WorkerProgress& progress : progress_) progress = {.lost = progress.lost};
  policy_->begin_epoch();
}

std::vector<Event> Server::events() const {
  if (unseen_.empty()) return order_.events();
  std::vector<UnseenFetch> fetches = unseen_;
  std::ranges::stable_sort(fetches, {}, &UnseenFetch::after);
  std::vector<Event> all;
  std::uint64_t done = 0;
  auto fetch = fetches.begin();
  const auto add_fetches = [&] {
    for (; fetch != fetches.end() && fetch->after <= done; ++fetch)
      all.push_back({Event::Kind::fetch, static_cast<std::int32_t>(fetch->worker), fetch->version});
  };
  add_fetches();
  for (const Event& event : order_.events()) {
    all.push_back(event);
    ++done;
    add_fetches();
  }
  return all;
}

std::vector<std::int32_t> Server::all_lost() const {
  std::vector<std::int32_t> all;
  for (std::size_t i = 0; i < progress_.size(); ++i)
    if (progress_[i].lost) all.push_back(static_cast<std::int32_t>(i));
  return all;
}

}  // namespace paragrad::strategies
