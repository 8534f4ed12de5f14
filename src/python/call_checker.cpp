#include "python/call_checker.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/wrappers/forwarding_communicator.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::python {
namespace {

constexpr int call_tag = 2;  // the messages of a strategy have another one

constexpr std::array<std::string_view, 7> strategy_functions{"start",      "begin_epoch", "step", "synchronise",
                                                             "show_model", "resume_work", "meet"};

std::uint64_t count_of(const std::map<int, std::uint64_t>& counts, int rank) {
  const auto found = counts.find(rank);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

std::unique_ptr<CallChecker> CallChecker::make(comm::Communicator& workers, std::string name) {
  const comm::Communicator* inmost = &workers;  // for the timeline it is wrapped
  while (const auto* const wrapper = dynamic_cast<const comm::ForwardingCommunicator*>(inmost)) inmost = &wrapper->wrapped();
  const auto* const ranks = dynamic_cast<const comm::MpiCommunicator*>(inmost);
  if (ranks == nullptr || workers.size() == 1 || workers.size() != ranks->size()) return nullptr;
  auto channel = std::make_unique<comm::MpiCommunicator>(*ranks, workers.device(),
                                                         comm::MpiCommunicator::SameChannel{.own_traffic = true});
  return std::unique_ptr<CallChecker>(new CallChecker(std::move(channel), std::move(name)));
}

CallChecker::CallChecker(std::unique_ptr<comm::Communicator> channel, std::string name)
    : channel_(std::move(channel)), name_(std::move(name)), peers_(static_cast<std::size_t>(channel_->size())) {}

void CallChecker::begin(std::string_view function) {
  function_ = static_cast<std::uint32_t>(std::ranges::find(strategy_functions, function) - strategy_functions.begin());
}

// Nobody passes a meeting before this worker has announced it, so nobody is more than one ahead.
void CallChecker::meet(Call call) {
  announce(call);
  for (int rank = 0; rank < channel_->size(); ++rank) expect_same_meeting(rank);
  const std::uint64_t meeting = own().meetings;
  while (std::ranges::any_of(peers_, [&](const Peer& peer) { return peer.meetings < meeting; })) {
    stop_if_stuck();
    expect_same_meeting(take_announcement());
  }
}

void CallChecker::transfer(int to, int from) {
  announce({.kind = Kind::transfer, .to = to, .from = from});
  while (!has_transferred()) {
    stop_if_stuck();
    take_announcement();
  }
}

bool CallChecker::has_transferred() const {
  for (int rank = 0; rank < channel_->size(); ++rank)
    if (waits_for(channel_->rank(), rank)) return false;
  return true;
}

void CallChecker::announce(Call call) {
  call.function = function_;
  record(channel_->rank(), call);
  const auto bytes = std::as_bytes(std::span(&call, 1));
  std::vector<comm::Request> sends;
  for (int rank = 0; rank < channel_->size(); ++rank)
    if (rank != channel_->rank()) sends.push_back(channel_->start_send(rank, call_tag, bytes));
  for (const comm::Request send : sends) channel_->wait(send);
}

int CallChecker::take_announcement() {
  Call call;
  const int rank = channel_->receive(comm::any_source, call_tag, std::as_writable_bytes(std::span(&call, 1))).source;
  record(rank, call);
  return rank;
}

void CallChecker::expect_same_meeting(int rank) const {
  const Peer &peer = peers_[static_cast<std::size_t>(rank)], &mine = peers_[static_cast<std::size_t>(channel_->rank())];
  if (peer.meetings == mine.meetings && peer.last.kind != Kind::transfer && peer.last != mine.last) refuse(rank);
}

void CallChecker::record(int rank, const Call& call) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  peer.last = call;
  if (call.kind != Kind::transfer) ++peer.meetings;
  if (call.to != nobody) ++peer.sends[call.to];
  if (call.from != nobody) ++peer.receives[call.from];
}

/// Whether a worker cannot finish its last call before the other one has announced another call.
bool CallChecker::waits_for(int rank, int other) const {
  const Peer &peer = peers_[static_cast<std::size_t>(rank)], &partner = peers_[static_cast<std::size_t>(other)];
  if (peer.last.kind == Kind::none) return false;
  if (peer.last.kind != Kind::transfer) return partner.meetings < peer.meetings;
  return (peer.last.from == other && count_of(partner.sends, rank) < count_of(peer.receives, other)) ||
         (peer.last.to == other && count_of(partner.receives, rank) < count_of(peer.sends, other));
}

bool CallChecker::leads_to_a_cycle(int rank, std::vector<Visit>& visits) const {
  Visit& visit = visits[static_cast<std::size_t>(rank)];
  if (visit != Visit::none) return visit == Visit::on_path;
  visit = Visit::on_path;
  for (int other = 0; other < channel_->size(); ++other)
    if (waits_for(rank, other) && leads_to_a_cycle(other, visits)) return true;
  visit = Visit::done;
  return false;
}

// Workers that only meet do not form a cycle.
void CallChecker::stop_if_stuck() const {
  if (std::ranges::none_of(peers_, [](const Peer& peer) { return peer.last.kind == Kind::transfer; })) return;
  std::vector<Visit> visits(peers_.size(), Visit::none);
  visits[static_cast<std::size_t>(channel_->rank())] = Visit::on_path;
  for (int other = 0; other < channel_->size(); ++other)
    if (waits_for(channel_->rank(), other) && leads_to_a_cycle(other, visits)) refuse(other);
}

void CallChecker::refuse(int other) const {
  throw core::ConfigError(
      core::format("{}: the calls of the workers do not match, and they would wait forever: worker {} {}, "
                   "worker {} {}; all workers must make the same calls in the same order",
                   name_, channel_->rank(), describe(channel_->rank()), other, describe(other)));
}

std::string CallChecker::describe(int rank) const {
  const Call& call = peers_[static_cast<std::size_t>(rank)].last;
  const std::string_view where = strategy_functions[call.function];
  switch (call.kind) {
    case Kind::none:
      return "has called nothing";
    case Kind::allreduce:
      return core::format("calls allreduce with {} numbers in {}", call.length, where);
    case Kind::sum:
      return core::format("calls sum in {}", where);
    case Kind::end:
      return core::format("has returned from {}", where);
    case Kind::transfer:
      break;
  }
  if (call.to == nobody) return core::format("receives from worker {} in {}", call.from, where);
  if (call.from == nobody) return core::format("sends to worker {} in {}", call.to, where);
  return core::format("sends to worker {} and receives from worker {} in {}", call.to, call.from, where);
}

}  // namespace paragrad::python
