#include "hosting/hosted_messages.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace paragrad::hosting {
namespace {

[[noreturn]] void refuse_length() { throw std::logic_error("a message is longer than the receive's buffer"); }

}  // namespace

HostedMessages::HostedMessages(Scheduler& scheduler, backend::Device& carrier, int workers, comm::Communicator* processes)
    : scheduler_(scheduler),
      carrier_(carrier),
      placement_{workers, processes == nullptr ? 1 : processes->size()},
      process_(processes == nullptr ? 0 : processes->rank()),
      boxes_(static_cast<std::size_t>(here())) {
  if (placement_.processes > 1) remote_.emplace(*processes, carrier, [this](auto arrival) { arrive(std::move(arrival)); });
}

comm::Request HostedMessages::start_send(int from, int to, int tag, std::span<const std::byte> data) {
  const std::uint64_t request = open("the receive of", to);
  if (const int process = placement_.process_of(to); process != process_) {
    remote_->send(process, from, to, tag, data, [this, request] { end(request); });
    return {request};
  }
  Message message{from, tag, data, nullptr, request};
  if (hand_over(to, message)) return {request};
  if (data.size() <= copied_bytes) {
    message.copy = std::make_unique_for_overwrite<std::byte[]>(data.size());
    const std::span<std::byte> copied(message.copy.get(), data.size());
    copy(data, copied);
    message.data = copied;
    message.request.reset();
    end(request);
  }
  box(to).messages.push_back(std::move(message));
  return {request};
}

comm::Request HostedMessages::start_receive(int worker, int from, int tag, std::span<std::byte> data) {
  const std::uint64_t request = open("a message from", from);
  const Receive receive{from, tag, data, request};
  std::list<Message>& messages = box(worker).messages;
  const auto message = std::ranges::find_if(messages, [&](const Message& one) { return receive.takes(one.from, one.tag); });
  if (message == messages.end()) {
    box(worker).receives.push_back(receive);
  } else {
    take(*message, receive);
    messages.erase(message);
  }
  return {request};
}

void HostedMessages::take(const Message& message, const Receive& receive) {
  if (message.remote) {
    const auto& [envelope, process, payload] = *message.remote;
    if (envelope.bytes > receive.data.size()) refuse_length();
    remote_->fetch(envelope, process, receive.data,
                   [this, request = receive.request, received = comm::Received{envelope.from, envelope.bytes}] {
                     end(request, received);
                   });
    return;
  }
  copy(message.data, receive.data);
  end(receive.request, {message.from, message.data.size()});
  if (message.request) end(*message.request);
}

void HostedMessages::arrive(RemoteMessages::Arrival arrival) {
  const RemoteMessages::Envelope envelope = arrival.envelope;
  Message message{envelope.from, envelope.tag, {}, std::move(arrival.payload)};
  if (message.copy != nullptr)
    message.data = {message.copy.get(), envelope.bytes};
  else
    message.remote = std::move(arrival);
  if (!hand_over(envelope.to, message)) box(envelope.to).messages.push_back(std::move(message));
}

/// Whether a receive of this worker was waiting for it.
bool HostedMessages::hand_over(int worker, const Message& message) {
  std::list<Receive>& receives = box(worker).receives;
  const auto receive =
      std::ranges::find_if(receives, [&](const Receive& one) { return one.takes(message.from, message.tag); });
  if (receive == receives.end()) return false;
  take(message, *receive);
  receives.erase(receive);
  return true;
}

std::optional<comm::Received> HostedMessages::wait_for(comm::Request request, double limit_s, Waits& waits) {
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

void HostedMessages::forget(int worker) {
  box(worker).receives.clear();
  for (Box& one : boxes_)
    std::erase_if(one.messages, [&](const Message& message) { return message.from == worker && message.request; });
}

std::uint64_t HostedMessages::open(const char* what, int peer) {
  const std::uint64_t request = requests_++;
  transfers_[request].wait = {what, peer};
  return request;
}

void HostedMessages::copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (from.size() > to.size()) refuse_length();
  if (!from.empty()) carrier_.transfer(from, to.first(from.size()));
}

void HostedMessages::end(std::uint64_t request, const comm::Received& received) {
  Transfer& transfer = transfers_.at(request);
  transfer.done = true;
  transfer.received = received;
  if (transfer.waiter != nullptr) scheduler_.wake(*transfer.waiter);
}

}  // namespace paragrad::hosting
