#include "strategies/parameter_server/message_link.hpp"

#include <algorithm>
#include <set>

#include "comm/compression/gradient_sum.hpp"
#include "core/format.hpp"

namespace paragrad::strategies {
namespace {

constexpr int most_idle = 10;  // pings without progress after which a server counts as lost

}  // namespace

void MessageLink::post(comm::Communicator& comm, std::size_t shard, const Request& request) {
  wait(comm, comm.start_send(server(shard), request_tag, bytes_of(request)), shard);
}

Reply MessageLink::receive_reply(comm::Communicator& comm, std::size_t shard) {
  Reply reply;
  wait(comm, comm.start_receive(server(shard), reply_tag, writable_bytes_of(reply)), shard);
  return reply;
}

void MessageLink::start(comm::Communicator& comm, std::span<const core::Matrix> layout, std::span<const float> parameters) {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const core::Range range = shards_[i];
    const std::vector<core::Matrix> matrices = comm::columns_within(layout, range);
    Request request = this->request(Request::Kind::start, matrices.size());
    request.size = range.size();
    post(comm, i, request);
    if (!matrices.empty()) comm.send(server(i), content_tag, std::as_bytes(std::span(matrices)));
    if (!range.empty()) comm.send(server(i), content_tag, range.of(parameters));
    receive_reply(comm, i);
  }
}

// All transfers are started before the first is waited for, so that a server that makes this worker wait does not delay
// workers at other servers.
void MessageLink::push(comm::Communicator& comm, const Versions& versions, const optim::Step& step,
                       std::span<const float> gradient) {
  std::vector<Request> requests;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    requests.push_back(request(Request::Kind::push, versions[i]));
    requests.back().step = step;
  }
  std::vector<comm::Request> transfers;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    transfers.push_back(comm.start_send(server(i), request_tag, bytes_of(requests[i])));
    if (!shards_[i].empty()) transfers.push_back(comm.start_send(server(i), content_tag, shards_[i].of(gradient)));
  }
  for (std::size_t i = 0, t = 0; i < shards_.size(); ++i)
    for (int part = shards_[i].empty() ? 1 : 0; part < 2; ++part) wait(comm, transfers[t++], i);
}

void MessageLink::fetch(comm::Communicator& comm, Versions& versions, std::span<float> parameters) {
  ask(comm, Request::Kind::fetch, versions, parameters);
}

// Merges the servers' lists of dropped workers: each server has its own view until all have met.
std::vector<int> MessageLink::meet(comm::Communicator& comm, Versions& versions, std::span<float> parameters) {
  const std::vector<Reply> replies = ask(comm, Request::Kind::meet, versions, parameters);
  std::set<int> lost;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (replies[i].lost == 0) continue;
    for (const std::int32_t worker : receive_list<std::int32_t>(comm, server(i), reply_tag)) lost.insert(worker);
  }
  return {lost.begin(), lost.end()};
}

std::vector<int> MessageLink::sum(comm::Communicator& comm, std::span<double> values) {
  post(comm, 0, request(Request::Kind::sum, values.size()));
  wait(comm, comm.start_send(server(0), content_tag, std::as_bytes(values)), 0);
  const Reply reply = receive_reply(comm, 0);
  checked(reply.number);
  comm.receive(server(0), reply_tag, std::as_writable_bytes(values));
  if (reply.lost == 0) return {};
  const auto lost = receive_list<std::int32_t>(comm, server(0), reply_tag);
  return {lost.begin(), lost.end()};
}

std::vector<Reply> MessageLink::ask(comm::Communicator& comm, Request::Kind kind, Versions& versions,
                                    std::span<float> parameters) {
  std::vector<Reply> replies(shards_.size());
  std::vector<comm::Request> coming;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    coming.push_back(comm.start_receive(server(i), reply_tag, writable_bytes_of(replies[i])));
    if (!shards_[i].empty()) coming.push_back(comm.start_receive(server(i), parameter_tag, shards_[i].of(parameters)));
  }
  for (std::size_t i = 0; i < shards_.size(); ++i) post(comm, i, request(kind, versions[i]));
  for (std::size_t i = 0, t = 0; i < shards_.size(); ++i) {
    for (int part = shards_[i].empty() ? 1 : 0; part < 2; ++part) wait(comm, coming[t++], i);
    versions[i] = checked(replies[i].number);
  }
  return replies;
}

std::uint64_t MessageLink::checked(std::uint64_t number) const {
  if (number == left_out)
    throw LeftOut(core::format("worker {} was dropped, as it was silent for {} s while the others waited for it", worker_,
                               timeout_s_));
  return number;
}

// A server may make this worker wait for others, but it answers pings; and it drops those others eventually.
void MessageLink::wait(comm::Communicator& comm, comm::Request transfer, std::size_t shard) {
  std::uint64_t done = 0;
  for (int idle = 0; !wait_for(comm, transfer, shard);) {
    const auto now = ping(comm, shard);
    if (!now) give_up(shard);
    idle = *now == done ? idle + 1 : 0;
    if (idle > most_idle)
      throw ServerLost(core::format("server {} has served no worker for {} s", shard, idle * timeout_s_));
    done = *now;
  }
}

// False: this worker has waited too long.
bool MessageLink::wait_for(comm::Communicator& comm, comm::Request transfer, std::size_t shard) const {
  for (double left_s = timeout_s_; left_s > 0; left_s -= look_every_s()) {
    if (comm.wait_for(transfer, std::min(left_s, look_every_s()))) return true;
    if (comm.membership().is_gone(server(shard))) give_up(shard);
  }
  return false;
}

void MessageLink::give_up(std::size_t shard) const {
  if (server(shard) == 0) throw comm::Failure("worker 0, which leads the training, no longer answers");
  throw ServerLost(core::format("server {} no longer answers worker {}", shard, worker_));
}

std::optional<std::uint64_t> MessageLink::ping(comm::Communicator& comm, std::size_t shard) {
  std::uint64_t done = 0;
  const comm::Request answer = comm.start_receive(server(shard), pong_tag, writable_bytes_of(done));
  if (!post_ping(comm, shard) || !wait_for(comm, answer, shard)) return std::nullopt;
  return done;
}

bool MessageLink::post_ping(comm::Communicator& comm, std::size_t shard) {
  const Request ping = request(Request::Kind::ping);
  return wait_for(comm, comm.start_send(server(shard), request_tag, bytes_of(ping)), shard);
}

std::uint64_t MessageLink::take(comm::Communicator& comm, std::uint64_t done) {
  post(comm, 0, request(Request::Kind::take, done));
  return checked(receive_reply(comm, 0).number);
}

void MessageLink::get_state(comm::Communicator& comm, std::size_t index, Shard& copy) {
  post(comm, index, request(Request::Kind::get_state));
  receive_state(comm, server(index), state_to_worker, copy);
}

void MessageLink::set_state(comm::Communicator& comm, std::size_t index, Shard& copy) {
  post(comm, index, request(Request::Kind::set_state));
  send_state(comm, server(index), state_to_server, copy);
  receive_reply(comm, index);
}

Statistics MessageLink::report(comm::Communicator& comm, std::vector<std::vector<Event>>& orders) {
  Statistics all;
  orders.clear();
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    post(comm, i, request(Request::Kind::report));
    Statistics one;
    one.staleness = receive_list<std::uint64_t>(comm, server(i), reply_tag);
    const auto counts = receive_list<std::uint64_t>(comm, server(i), reply_tag);
    one.dropped = counts.at(0);
    one.workers_lost = counts.at(1);
    one.splits_lost = counts.at(2);
    all += one;
    orders.push_back(receive_list<Event>(comm, server(i), reply_tag));
  }
  return all;
}

void MessageLink::leave(comm::Communicator& comm) {
  for (std::size_t i = 0; i < shards_.size(); ++i) post(comm, i, request(Request::Kind::leave));
}

}  // namespace paragrad::strategies
