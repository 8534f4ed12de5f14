#include "sim/messages/transport.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "backend/meta/meta_memory.hpp"
#include "sim/engine/timed_fiber.hpp"
#include "sim/messages/interceptor.hpp"

namespace paragrad::sim {
namespace {

// Arguments of fire(): either "match receives from any source in this worker's mailbox" or "this message departs".
constexpr std::uint64_t departure = std::uint64_t{1} << 32;

// Requests: a number in a pool, and which pool.
constexpr std::uint64_t of_receive = std::uint64_t{1} << 32;

// Receives from any source are matched after everything that arrives in the same instant: by an actor after all workers.
// Every message takes at least a picosecond, so nothing sent as a consequence can arrive in the same instant.
constexpr std::uint32_t behind_all_workers = EventKey::actors / 2;

// Messages in device memory without content (meta) have only a size; those in host memory are copied, as control flow may
// depend on them.
template <class Byte>
bool has_content(std::span<Byte> data) {
  return !data.empty() && !backend::is_meta_memory(data.data());
}

}  // namespace

Transport::Transport(Engine& engine, Network& network, Carrier& carrier, int workers, const Platform::Message& costs,
                     CollectiveInterceptor* interceptor)
    : engine_(engine),
      network_(network),
      carrier_(carrier),
      eager_bytes_(costs.eager_bytes),
      send_overhead_(from_seconds(costs.send_overhead_s)),
      receive_overhead_(from_seconds(costs.receive_overhead_s)),
      handshake_(costs.handshake),
      boxes_(workers),
      timeouts_(engine, [this](std::uint64_t request) { give_up(request); }),
      interceptor_(interceptor) {
  if (costs.copy_bytes_per_s > 0) copy_ = InverseBandwidth(costs.copy_bytes_per_s);
}

void Transport::settle() {
  engine_.settle();
  if (interceptor_ != nullptr) interceptor_->make_way();
}

comm::Request Transport::start_send(int from, int to, int tag, std::span<const std::byte> data) {
  const auto bytes = static_cast<std::int64_t>(data.size());
  const bool eager = bytes <= eager_bytes_;
  const Time busy = send_overhead_ + (eager ? copy_.time_of(bytes) : 0);
  engine_.pass(busy);
  settle();

  const Id id = boxes_.sends.add({.from = from, .to = to, .tag = tag, .eager = eager, .data = data});
  Send& send = boxes_.sends[id];
  if (eager)
    send.released_at = engine_.now();
  else
    send.visible_at = engine_.now() + network_.latency(from, to);
  const Id receive = boxes_.post_send(id);
  if (receive != no_id) {
    match(id, receive);
  } else if (eager && has_content(data)) {
    send.copy = std::make_unique_for_overwrite<std::byte[]>(data.size());
    carrier_.move(data, std::span(send.copy.get(), data.size()));
    send.data = {send.copy.get(), data.size()};
  } else if (!eager && boxes_.any_source_waits(to, tag)) {
    match_at_end_of(send.visible_at, to);
  }
  if (eager) {
    ++under_way_;
    network_.start(from, to, bytes, *this, id);
  }
  return {id};
}

comm::Request Transport::start_receive(int rank, int from, int tag, std::span<std::byte> data) {
  settle();
  const Id id = boxes_.receives.add({.rank = rank, .from = from, .tag = tag, .data = data, .posted_at = engine_.now()});
  const Id send = boxes_.post_receive(id);
  if (send != no_id) {
    match(send, id);
  } else if (from == comm::any_source) {
    match_at_end_of(engine_.now(), rank);
    boxes_.for_each_send(rank, [&](const Send& waiting) {
      if (waiting.visible_at > engine_.now() && waiting.visible_at != never) match_at_end_of(waiting.visible_at, rank);
    });
  }
  return {of_receive | id};
}

void Transport::match_at_end_of(Time instant, int rank) {
  engine_.schedule(instant, behind_all_workers + static_cast<std::uint32_t>(rank), *this, static_cast<std::uint64_t>(rank));
}

void Transport::fire(std::uint64_t argument) {
  if (argument >= departure) return depart(static_cast<Id>(argument - departure));
  for (const auto [send, receive] : boxes_.match_any(static_cast<int>(argument), engine_.now())) match(send, receive);
}

void Transport::match(Id id, Id receive_id) {
  Send& send = boxes_.sends[id];
  Receive& receive = boxes_.receives[receive_id];
  if (send.data.size() > receive.data.size()) throw std::logic_error("a message is longer than the receive's buffer");
  if (has_content(send.data) && has_content(receive.data)) carrier_.move(send.data, receive.data.first(send.data.size()));
  send.receive = receive_id;
  receive.source = send.from;
  receive.bytes = send.data.size();
  if (send.eager) {
    if (send.visible_at != never) deliver(id);
    return;
  }
  ++under_way_;
  if (!handshake_) return depart(id);
  const Time both_ready = std::max(engine_.now(), send.visible_at);
  engine_.schedule(both_ready + network_.latency(send.from, send.to), static_cast<std::uint32_t>(send.from), *this,
                   departure | id);
}

void Transport::depart(Id id) {
  const Send& send = boxes_.sends[id];
  const Time over = network_.start(send.from, send.to, static_cast<std::int64_t>(send.data.size()), *this, id);
  if (over != never) sent(id, over);
}

void Transport::sent(std::uint64_t message, Time at) {
  Send& send = boxes_.sends[static_cast<Id>(message)];
  if (send.eager) return;  // the copy is out; the sender has gone on
  send.released_at = at;
  if (send.waiter != nullptr && at <= send.deadline) engine_.wake_at(*std::exchange(send.waiter, nullptr), at);
}

void Transport::arrives(std::uint64_t message, Time at) {
  const Id id = static_cast<Id>(message);
  Send& send = boxes_.sends[id];
  send.visible_at = at;
  --under_way_;
  if (send.receive != no_id)
    deliver(id);
  else if (boxes_.any_source_waits(send.to, send.tag))
    match_at_end_of(at, send.to);
}

void Transport::deliver(Id id) {
  Send& send = boxes_.sends[id];
  Receive& receive = boxes_.receives[send.receive];
  receive.arrives_at = send.visible_at;
  receive.unexpected = send.eager && receive.arrives_at < receive.posted_at;
  if (receive.waiter != nullptr && receive.arrives_at <= receive.deadline) {
    Fiber& waiter = *std::exchange(receive.waiter, nullptr);
    engine_.wake_at(waiter, end_of(receive, std::max(engine_.now(), waiter.own_time())));
  }
  send.delivered = true;
  remove_if_over(id);
}

void Transport::remove_if_over(Id id) {
  Send& send = boxes_.sends[id];
  if (!send.delivered || !send.waited_for) return;
  send.copy.reset();
  boxes_.sends.remove(id);
}

/// When a worker that waits for it from a given time continues.
Time Transport::end_of(const Receive& receive, Time waiting_since) const {
  return std::max(waiting_since, receive.arrives_at) + receive_overhead_ +
         (receive.unexpected ? copy_.time_of(static_cast<std::int64_t>(receive.bytes)) : 0);
}

comm::Received Transport::wait(comm::Request request) { return *wait_for(request, std::numeric_limits<double>::infinity()); }

std::optional<comm::Received> Transport::wait_for(comm::Request request, double limit_s) {
  const Time deadline = later(engine_.own_time(), limit_s);
  if (request.id >= of_receive) return wait_for_receive(static_cast<Id>(request.id - of_receive), deadline);
  if (!wait_for_send(static_cast<Id>(request.id), deadline)) return std::nullopt;
  return comm::Received{};
}

bool Transport::wait_for_send(Id id, Time deadline) {
  const Time known = boxes_.sends[id].released_at;
  if (known == never || known > deadline) {
    Send& send = boxes_.sends[id];
    block({"the receive of", send.to}, send.waiter, send.deadline, deadline, id);
  } else {
    engine_.pass_until(known);
  }
  if (boxes_.sends[id].released_at > deadline) return false;
  boxes_.sends[id].waited_for = true;
  remove_if_over(id);
  return true;
}

std::optional<comm::Received> Transport::wait_for_receive(Id id, Time deadline) {
  const Time known = boxes_.receives[id].arrives_at;
  if (known == never || known > deadline) {
    Receive& receive = boxes_.receives[id];
    block({"a message from", receive.from}, receive.waiter, receive.deadline, deadline, of_receive | id);
  } else {
    engine_.pass_until(end_of(boxes_.receives[id], engine_.own_time()));
  }
  if (boxes_.receives[id].arrives_at > deadline) return std::nullopt;
  const comm::Received result{boxes_.receives[id].source, boxes_.receives[id].bytes};
  boxes_.receives.remove(id);
  return result;
}

/// Blocks the running fiber until the transfer wakes it, at the deadline at the latest.
void Transport::block(Wait reason, Fiber*& waiter, Time& its_deadline, Time deadline, std::uint64_t request) {
  waiter = &engine_.current();
  its_deadline = deadline;
  if (deadline == never) return engine_.block(reason);
  timeouts_.set(deadline, request);
  engine_.block(reason);
  timeouts_.clear();
}

/// The time limit of a wait has expired. The transfer may have been in time, and its waiter still busy taking it in.
void Transport::give_up(std::uint64_t request) {
  Fiber*& waiter = request >= of_receive ? boxes_.receives[static_cast<Id>(request - of_receive)].waiter
                                         : boxes_.sends[static_cast<Id>(request)].waiter;
  if (waiter != nullptr) engine_.wake(*std::exchange(waiter, nullptr));
}

}  // namespace paragrad::sim
