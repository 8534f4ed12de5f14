#include "strategies/parameter_server/service.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/format.hpp"

namespace paragrad::strategies {
namespace {

constexpr double look_every_s = 1;      // interval of checks that a peer is still there
constexpr double clock_error_s = 1e-9;  // by which a wait may end before its limit

}  // namespace

Service::Service(Server& server, double timeout_s)
    : server_(server), timeout_s_(timeout_s), clients_(static_cast<std::size_t>(server.workers())) {}

void Service::run(comm::Communicator& comm) {
  while (!over()) {
    while (serve_one(comm)) {
    }
    if (over()) return;
    if (const auto request = receive(comm))
      take_in(comm, *request);
    else if (comm.now_s() + clock_error_s >= server_.deadline_s())
      server_.close();
    else
      lose_the_silent(comm);
  }
}

bool Service::over() const {
  for (int worker = 0; worker < server_.workers(); ++worker)
    if (!clients_[static_cast<std::size_t>(worker)].gone && !server_.lost(worker)) return false;
  return true;
}

std::optional<Request> Service::receive(comm::Communicator& comm) {
  constexpr double forever = std::numeric_limits<double>::infinity();
  const double left_s = quiet_since_s_ + timeout_s_ - comm.now_s();
  const double limit_s = somebody_is_missed() ? std::clamp(left_s, 0., look_every_s) : forever;
  return receive_within(comm, std::min(limit_s, std::max(server_.deadline_s() - comm.now_s(), 0.)));
}

std::optional<Request> Service::receive_within(comm::Communicator& comm, double limit_s) {
  if (!receive_) receive_ = comm.start_receive(comm::any_source, request_tag, writable_bytes_of(incoming_));
  if (!comm.wait_for(*receive_, limit_s)) return std::nullopt;
  receive_.reset();
  return incoming_;
}

// Drops workers that do not wait: all of them after a timeout, otherwise those known to be gone.
void Service::lose_the_silent(comm::Communicator& comm) {
  const bool too_long = comm.now_s() >= quiet_since_s_ + timeout_s_;
  for (const int silent : those_who_do_not_wait())
    if (too_long || comm.membership().is_gone(silent)) lose(comm, silent);
}

// A ping is answered at once, and does not count as activity of the other workers.
void Service::take_in(comm::Communicator& comm, const Request& request) {
  using Kind = Request::Kind;
  if (request.kind == Kind::ping) return ping(comm, request.worker);
  quiet_since_s_ = comm.now_s();
  if (request.kind == Kind::fetch || request.kind == Kind::take || request.kind == Kind::meet || request.kind == Kind::sum)
    client(request.worker).waiting = true;
  waiting_.push_back(request);
}

// Whether some workers wait and others do not: if nothing arrives now, the former are waiting for the latter.
bool Service::somebody_is_missed() const {
  if (server_.keeps_order()) return false;
  const std::vector<int> silent = those_who_do_not_wait();
  return !silent.empty() && silent.size() + server_.all_lost().size() < clients_.size();
}

std::vector<int> Service::those_who_do_not_wait() const {
  std::vector<int> all;
  for (int worker = 0; worker < server_.workers(); ++worker) {
    const Client& client = clients_[static_cast<std::size_t>(worker)];
    if (!client.waiting && !client.gone && !server_.lost(worker)) all.push_back(worker);
  }
  return all;
}

void Service::lose(comm::Communicator& comm, int worker) {
  if (server_.lost(worker)) return;
  if (worker == 0)
    throw comm::Failure(
        core::format("worker 0, which leads the training, is gone, or was silent for {} s while the others "
                     "waited for it: training ends",
                     timeout_s_));
  std::erase(came_, worker);
  to_sum_.erase(worker);
  if (server_.lose(comm, worker)) answer_meeting(comm);
  answer_sums(comm);
}

// Serves the first request whose turn it is. A worker's requests stay in order: only its first one is considered.
bool Service::serve_one(comm::Communicator& comm) {
  std::vector<std::int32_t> behind;
  for (auto request = waiting_.begin(); request != waiting_.end(); ++request) {
    if (std::ranges::find(behind, request->worker) != behind.end()) continue;
    if (has_turn(*request)) {
      const Request chosen = *request;
      waiting_.erase(request);
      serve(comm, chosen);
      return true;
    }
    behind.push_back(request->worker);
  }
  return false;
}

bool Service::has_turn(const Request& request) const {
  if (server_.lost(request.worker)) return true;
  switch (request.kind) {
    case Request::Kind::push:
      return server_.may_push(request.worker);
    case Request::Kind::fetch:
      return server_.may_fetch(request.worker, request.number);
    case Request::Kind::take:
      return server_.may_take(request.worker);
    case Request::Kind::meet:
      return server_.may_meet(request.worker);
    default:
      return true;  // asked for when all is quiet
  }
}

void Service::serve(comm::Communicator& comm, const Request& request) {
  try {
    return server_.lost(request.worker) ? turn_away(comm, request) : do_serve(comm, request);
  } catch (const comm::PeerGone& gone) {
    lose(comm, gone.peer());
  }
}

void Service::do_serve(comm::Communicator& comm, const Request& request) {
  switch (request.kind) {
    case Request::Kind::start:
      return start(comm, request);
    case Request::Kind::push:
      return push(comm, request);
    case Request::Kind::fetch:
      return reply_with_parameters(comm, request.worker, server_.fetch(request.worker));
    case Request::Kind::take:
      return reply(comm, request.worker, server_.take(request.worker, request.number));
    case Request::Kind::meet:
      return meet(comm, request);
    case Request::Kind::sum:
      return sum(comm, request);
    case Request::Kind::get_state:
      return send_state(comm, request.worker, state_to_worker, server_.shard());
    case Request::Kind::set_state:
      receive_state(comm, request.worker, state_to_server, server_.shard());
      return reply(comm, request.worker, 0);
    case Request::Kind::hand_in:
      server_.add(receive_list<UnseenFetch>(comm, request.worker, content_tag));
      return reply(comm, request.worker, 0);
    case Request::Kind::report:
      return report(comm, request.worker);
    case Request::Kind::leave:
      client(request.worker).gone = true;
      return;
    case Request::Kind::ping:
      break;  // answered before
  }
  throw std::logic_error("a server received a message that is not a request");
}

void Service::start(comm::Communicator& comm, const Request& request) {
  std::vector<core::Matrix> layout(request.number);
  if (!layout.empty()) comm.receive(request.worker, content_tag, std::as_writable_bytes(std::span(layout)));
  server_.start(comm.device(), std::move(layout), request.size);
  if (request.size > 0) comm.receive(request.worker, content_tag, server_.shard().parameters());
  reply(comm, request.worker, 0);
}

// The worker is alive after all. It gets formally valid replies that tell it that it was dropped.
void Service::turn_away(comm::Communicator& comm, const Request& request) {
  switch (request.kind) {
    case Request::Kind::push:
      receive_gradient(comm, request.worker);
      return;
    case Request::Kind::fetch:
    case Request::Kind::meet:
      return reply_with_parameters(comm, request.worker, left_out);
    case Request::Kind::take:
    case Request::Kind::sum:
      return reply(comm, request.worker, left_out);
    default:
      return;
  }
}

void Service::push(comm::Communicator& comm, const Request& request) {
  if (receive_gradient(comm, request.worker)) server_.push(comm, {request.worker, request.number, request.step});
}

// If the gradient does not arrive, the buffer is not reused, as it may still arrive later.
bool Service::receive_gradient(comm::Communicator& comm, int worker) {
  Shard& shard = server_.shard();
  if (shard.gradient().empty()) return true;
  const comm::Request transfer = comm.start_receive(worker, content_tag, shard.gradient());
  if (server_.keeps_order()) {
    comm.wait(transfer);
    return true;
  }
  if (finish(comm, transfer, worker)) return true;
  given_up_.push_back(comm.device().allocate(shard.gradient().size()));
  shard.swap_gradient(given_up_.back());
  lose(comm, worker);
  return false;
}

void Service::meet(comm::Communicator& comm, const Request& request) {
  came_.push_back(request.worker);
  if (server_.meet(comm, request.worker)) answer_meeting(comm);
}

void Service::answer_meeting(comm::Communicator& comm) {
  std::vector<std::int32_t> all = std::exchange(came_, {});
  std::ranges::sort(all);
  const std::vector<std::int32_t> lost = server_.all_lost();
  for (const std::int32_t worker : all) {
    reply_with_parameters(comm, worker, server_.shard().version());
    if (!lost.empty()) send_lost(comm, worker, lost);
  }
}

void Service::sum(comm::Communicator& comm, const Request& request) {
  std::vector<double> values(request.number);
  comm.receive(request.worker, content_tag, std::as_writable_bytes(std::span(values)));
  to_sum_[request.worker] = std::move(values);
  answer_sums(comm);
}

void Service::answer_sums(comm::Communicator& comm) {
  const std::vector<std::int32_t> lost = server_.all_lost();
  if (to_sum_.empty() || to_sum_.size() + lost.size() < clients_.size()) return;
  const auto all = std::exchange(to_sum_, {});
  std::vector<double> sums(all.begin()->second.size());
  for (const auto& [worker, values] : all)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values.at(i);
  for (const auto& [worker, values] : all) {
    reply(comm, worker, 0);
    send(comm, worker, reply_tag, std::as_bytes(std::span(sums)));
    if (!lost.empty()) send_lost(comm, worker, lost);
  }
}

void Service::report(comm::Communicator& comm, int worker) {
  const Statistics& statistics = server_.statistics();
  send_list(comm, worker, reply_tag, statistics.staleness);
  send_list(comm, worker, reply_tag,
            std::vector<std::uint64_t>{statistics.dropped, statistics.workers_lost, statistics.splits_lost});
  send_list(comm, worker, reply_tag, server_.events());
}

void Service::ping(comm::Communicator& comm, int worker) {
  const std::uint64_t done = server_.done();
  send(comm, worker, pong_tag, bytes_of(done));
}

void Service::reply(comm::Communicator& comm, int worker, std::uint64_t number) {
  client(worker).waiting = false;
  quiet_since_s_ = comm.now_s();  // the worker must get its full time, too
  const Reply reply{.number = number, .lost = server_.all_lost().size()};
  send(comm, worker, reply_tag, bytes_of(reply));
}

void Service::reply_with_parameters(comm::Communicator& comm, int worker, std::uint64_t version) {
  reply(comm, worker, version);
  const std::span<const float> parameters = server_.shard().parameters();
  if (!parameters.empty()) send(comm, worker, parameter_tag, std::as_bytes(parameters));
}

void Service::send_lost(comm::Communicator& comm, int worker, const std::vector<std::int32_t>& lost) {
  const std::uint64_t count = lost.size();
  send(comm, worker, reply_tag, bytes_of(count));
  send(comm, worker, reply_tag, std::as_bytes(std::span(lost)));
}

// The worker has posted the receive; if it does not take the reply, it is gone.
void Service::send(comm::Communicator& comm, int worker, int tag, std::span<const std::byte> data) {
  if (server_.lost(worker) && comm.membership().is_gone(worker)) return;
  try {
    if (finish(comm, comm.start_send(worker, tag, data), worker)) return;
  } catch (const comm::PeerGone&) {
  }
  lose(comm, worker);
}

bool Service::finish(comm::Communicator& comm, comm::Request transfer, int worker) const {
  for (double left_s = timeout_s_; left_s > 0; left_s -= look_every_s) {
    if (comm.wait_for(transfer, std::min(left_s, look_every_s))) return true;
    if (comm.membership().is_gone(worker)) return false;
  }
  return false;
}

}  // namespace paragrad::strategies
