#include "hosting/local_messages.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace paragrad::hosting {

comm::Request LocalMessages::start_send(int from, int to, int tag, std::span<const std::byte> data) {
  const std::uint64_t request = open("the receive of", to);
  std::list<Receive>& receives = box(to).receives;
  const auto receive = std::ranges::find_if(receives, [&](const Receive& one) { return one.takes(from, tag); });
  if (receive != receives.end()) {
    copy(data, receive->data);
    end(request);
    end(receive->request, {from, data.size()});
    receives.erase(receive);
  } else if (data.size() <= copied_bytes) {
    auto copied = std::make_unique_for_overwrite<std::byte[]>(data.size());
    const std::span<std::byte> all(copied.get(), data.size());
    copy(data, all);
    box(to).messages.push_back({from, tag, all, std::move(copied), request});
    end(request);
  } else {
    box(to).messages.push_back({from, tag, data, nullptr, request});
  }
  return {request};
}

comm::Request LocalMessages::start_receive(int worker, int from, int tag, std::span<std::byte> data) {
  const std::uint64_t request = open("a message from", from);
  const Receive receive{from, tag, data, request};
  std::list<Message>& messages = box(worker).messages;
  const auto message = std::ranges::find_if(messages, [&](const Message& one) { return receive.takes(one.from, one.tag); });
  if (message == messages.end()) {
    box(worker).receives.push_back(receive);
  } else {
    copy(message->data, data);
    end(request, {message->from, message->data.size()});
    if (message->copy == nullptr) end(message->request);
    messages.erase(message);
  }
  return {request};
}

std::optional<comm::Received> LocalMessages::wait_for(comm::Request request, double limit_s, Waits& waits) {
  Transfer& transfer = transfers_.at(request.id);  // stays where it is until it is erased
  if (!transfer.done) {
    transfer.waiter = &scheduler_.current();
    waits.block_for(transfer.wait, limit_s);
    transfer.waiter = nullptr;
    waits.stop_if_abandoned();
    if (!transfer.done) return std::nullopt;
  }
  const comm::Received received = transfer.received;
  transfers_.erase(request.id);
  return received;
}

void LocalMessages::forget(int worker) {
  box(worker).receives.clear();
  for (Box& one : boxes_)
    std::erase_if(one.messages, [&](const Message& message) { return message.from == worker && message.copy == nullptr; });
}

std::uint64_t LocalMessages::open(const char* what, int peer) {
  const std::uint64_t request = requests_++;
  transfers_[request].wait = {what, peer};
  return request;
}

void LocalMessages::copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (from.size() > to.size()) throw std::logic_error("a message is longer than the receive's buffer");
  if (!from.empty()) carrier_.transfer(from, to.first(from.size()));
}

void LocalMessages::end(std::uint64_t request, const comm::Received& received) {
  Transfer& transfer = transfers_.at(request);
  transfer.done = true;
  transfer.received = received;
  if (transfer.waiter != nullptr) scheduler_.wake(*transfer.waiter);
}

}  // namespace paragrad::hosting
