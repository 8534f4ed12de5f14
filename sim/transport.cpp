#include "sim/transport.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "backend/meta/meta_memory.hpp"
#include "sim/engine/fiber.hpp"

namespace paragrad::sim {
namespace {

// Arguments of fire(): either "look at this worker's mailbox again" or "this send operation is over".
constexpr std::uint64_t send_over = std::uint64_t{1} << 32;

// Receives from any source are matched as the last event of an instant, after all that arrives in it: an actor behind all
// workers. Every message takes at least a picosecond, so nothing that follows can arrive in the same instant.
constexpr std::uint32_t behind_all_workers = std::uint32_t{1} << 31;

// Messages of device memory without content (meta) have a size only; those of host memory are copied, as control flow may
// depend on them.
bool has_content(std::span<const std::byte> data) { return !data.empty() && !backend::is_meta_memory(data.data()); }

}  // namespace

template <class T>
Transport::Id Transport::Pool<T>::add(T value) {
  if (unused.empty()) {
    slots.push_back(std::move(value));
    return static_cast<Id>(slots.size() - 1);
  }
  const Id id = unused.back();
  unused.pop_back();
  slots[id] = std::move(value);
  return id;
}

Transport::Transport(Engine& engine, Network& network, int workers, std::int64_t eager_bytes)
    : engine_(engine), network_(network), eager_bytes_(eager_bytes), boxes_(static_cast<std::size_t>(workers)) {}

comm::Request Transport::start_send(int from, int to, int tag, std::span<const std::byte> data) {
  ++messages_sent_;
  bytes_sent_ += data.size();
  const auto bytes = static_cast<std::int64_t>(data.size());
  const Id operation = operations_.add({.reason = {"the receive of", to}});
  Message message{.from = from, .to = to, .tag = tag, .data = data, .eager = bytes <= eager_bytes_};
  if (message.eager) {
    if (has_content(data)) message.copy.assign(data.begin(), data.end());
  } else {
    message.send = operation;
    message.visible_at = engine_.now() + network_.latency(from, to);
  }
  const Id id = messages_.add(std::move(message));
  if (messages_[id].eager) {
    if (has_content(data)) messages_[id].data = messages_[id].copy;
    network_.start(from, to, bytes, *this, id);
    operations_[operation].done = true;
  }
  Mailbox& box = boxes_[static_cast<std::size_t>(to)];
  box.messages.push_back(id);
  if (!messages_[id].eager && any_source_waits(box, tag)) match_at_end_of(messages_[id].visible_at, to);
  match_mailbox(to);
  return {operation};
}

comm::Request Transport::start_receive(int rank, int from, int tag, std::span<std::byte> data) {
  const Id operation = operations_.add({.reason = {"a message from", from}});
  Mailbox& box = boxes_[static_cast<std::size_t>(rank)];
  box.receives.push_back(receives_.add({from, tag, data, operation}));
  if (from != comm::any_source) {
    match_mailbox(rank);
  } else {
    match_at_end_of(engine_.now(), rank);
    for (const Id id : box.messages)
      if (!messages_[id].eager && !visible(messages_[id])) match_at_end_of(messages_[id].visible_at, rank);
  }
  return {operation};
}

comm::Received Transport::wait(comm::Request request) {
  const Id id = static_cast<Id>(request.id);
  if (!operations_[id].done) {
    operations_[id].waiter = &engine_.current();
    engine_.block(operations_[id].reason);
  }
  const comm::Received result = operations_[id].result;
  operations_.remove(id);
  return result;
}

void Transport::match_at_end_of(Time instant, int rank) {
  engine_.schedule(instant, behind_all_workers | static_cast<std::uint32_t>(rank), *this, static_cast<std::uint64_t>(rank));
}

void Transport::fire(std::uint64_t argument) {
  if (argument >= send_over)
    complete(static_cast<Id>(argument - send_over), {});
  else
    match_mailbox(static_cast<int>(argument), true);
}

bool Transport::visible(const Message& message) const {
  return message.eager ? message.delivered : message.visible_at <= engine_.now();
}

bool Transport::any_source_waits(const Mailbox& box, int tag) {
  return std::any_of(box.receives.begin(), box.receives.end(),
                     [&](Id id) { return receives_[id].from == comm::any_source && receives_[id].tag == tag; });
}

// Receives are served in the order of posting. One that names its source must not take a message that an older receive from
// any source may still get.
void Transport::match_mailbox(int rank, bool end_of_instant) {
  Mailbox& box = boxes_[static_cast<std::size_t>(rank)];
  std::vector<int> contested_tags;
  for (std::size_t i = 0; i < box.receives.size();) {
    const Posted& receive = receives_[box.receives[i]];
    const bool contested = std::find(contested_tags.begin(), contested_tags.end(), receive.tag) != contested_tags.end();
    const bool too_early = receive.from == comm::any_source && !end_of_instant;
    const Id message = contested || too_early ? none : find_message(box, receive);
    if (message == none) {
      if (receive.from == comm::any_source) contested_tags.push_back(receive.tag);
      ++i;
      continue;
    }
    const Id receive_id = box.receives[i];
    box.receives.erase(box.receives.begin() + static_cast<std::ptrdiff_t>(i));
    box.messages.erase(std::find(box.messages.begin(), box.messages.end(), message));
    match(message, receive_id);
  }
}

Transport::Id Transport::find_message(const Mailbox& box, const Posted& receive) {
  const bool any = receive.from == comm::any_source;
  Id best = none;
  std::vector<int> seen;  // sources whose oldest message with this tag has been looked at: later ones may not overtake it
  for (const Id id : box.messages) {
    const Message& message = messages_[id];
    if (message.tag != receive.tag || (!any && message.from != receive.from)) continue;
    if (!any) return id;
    if (std::find(seen.begin(), seen.end(), message.from) != seen.end()) continue;
    seen.push_back(message.from);
    if (!visible(message)) continue;
    if (best == none ||
        std::pair(message.visible_at, message.from) < std::pair(messages_[best].visible_at, messages_[best].from))
      best = id;
  }
  return best;
}

void Transport::match(Id id, Id receive) {
  Message& message = messages_[id];
  message.receive = receive;
  const Posted& posted = receives_[receive];
  if (message.data.size() > posted.data.size()) throw std::logic_error("a message is longer than the receive's buffer");
  if (has_content(message.data) && has_content(posted.data))
    std::memcpy(posted.data.data(), message.data.data(), message.data.size());
  if (message.eager) {
    if (message.delivered) finish_receive(id);
    return;
  }
  const Id send = message.send;
  const Time sent = network_.start(message.from, message.to, static_cast<std::int64_t>(message.data.size()), *this, id);
  engine_.schedule(sent, static_cast<std::uint32_t>(messages_[id].from), *this, send_over + send);
}

void Transport::delivered(std::uint64_t argument) {
  const Id id = static_cast<Id>(argument);
  Message& message = messages_[id];
  message.delivered = true;
  if (message.receive != none) return finish_receive(id);
  message.visible_at = engine_.now();
  if (any_source_waits(boxes_[static_cast<std::size_t>(message.to)], message.tag))
    match_at_end_of(engine_.now(), message.to);
}

void Transport::finish_receive(Id id) {
  const Message& message = messages_[id];
  const Id operation = receives_[message.receive].operation;
  receives_.remove(message.receive);
  complete(operation, {message.from, message.data.size()});
  messages_[id].copy = {};
  messages_.remove(id);
}

void Transport::complete(Id id, comm::Received result) {
  Operation& operation = operations_[id];
  operation.done = true;
  operation.result = result;
  if (operation.waiter != nullptr) engine_.wake(*operation.waiter);
}

}  // namespace paragrad::sim
