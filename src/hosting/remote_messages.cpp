#include "hosting/remote_messages.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "comm/mpi/backoff.hpp"
#include "core/format.hpp"

namespace paragrad::hosting {
namespace {

constexpr int packet_tag = 0;
constexpr int rendezvous_tags = 30000;  // MPI allows this many, and fewer are ever in use between two processes
constexpr std::size_t packet_bytes = sizeof(RemoteMessages::Envelope) + RemoteMessages::eager_bytes;

constexpr std::int32_t nobody = -1;  // the receiver of a process's last packet

}  // namespace

RemoteMessages::RemoteMessages(comm::Communicator& processes, backend::Device& carrier, std::function<void(Arrival)> deliver)
    : processes_(processes),
      carrier_(carrier),
      deliver_(std::move(deliver)),
      packet_(std::make_unique_for_overwrite<std::byte[]>(packet_bytes)),
      rendezvous_(static_cast<std::size_t>(processes.size())) {
  await_packet();
}

void RemoteMessages::await_packet() {
  next_packet_ = processes_.start_receive(comm::any_source, packet_tag, std::span(packet_.get(), packet_bytes));
}

void RemoteMessages::send(int process, int from, int to, int tag, std::span<const std::byte> data, const Then& sent) {
  Envelope envelope{from, to, tag, 0, data.size()};
  if (data.size() <= eager_bytes) {
    post(process, envelope, data);
    return sent();
  }
  std::uint32_t& begun = rendezvous_[static_cast<std::size_t>(process)];
  envelope.rendezvous_tag = static_cast<std::int32_t>(1 + begun++ % rendezvous_tags);
  post(process, envelope, {});
  transfers_.push_back({processes_.start_send(process, envelope.rendezvous_tag, data), nullptr, sent});
}

void RemoteMessages::post(int process, const Envelope& envelope, std::span<const std::byte> payload) {
  const std::size_t bytes = sizeof envelope + payload.size();
  auto packet = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::memcpy(packet.get(), &envelope, sizeof envelope);
  if (!payload.empty()) carrier_.transfer(payload, std::span(packet.get() + sizeof envelope, payload.size()));
  const comm::Request request = processes_.start_send(process, packet_tag, std::span<const std::byte>(packet.get(), bytes));
  transfers_.push_back({request, std::move(packet), [] {}});
}

void RemoteMessages::fetch(const Envelope& envelope, int process, std::span<std::byte> into, Then received) {
  const comm::Request request = processes_.start_receive(process, envelope.rendezvous_tag, into.first(envelope.bytes));
  transfers_.push_back({request, nullptr, std::move(received)});
}

bool RemoteMessages::poll() {
  const bool taken = take_packets(), ended = end_transfers();
  if (!taken && !ended) look_for_deaths();
  return taken || ended;
}

void RemoteMessages::look_for_deaths() {
  constexpr double look_every_s = 0.1;
  const double now_s = processes_.now_s();
  if (now_s < look_at_s_) return;
  look_at_s_ = now_s + look_every_s;
  for (int other = 0; other < processes_.size(); ++other)
    if (other != processes_.rank() && processes_.membership().is_gone(other))
      throw comm::PeerGone(other, core::format("process {}: process {} has ended", processes_.rank(), other));
}

bool RemoteMessages::take_packets() {
  bool taken = false;
  while (farewells_ < processes_.size()) {
    const auto received = processes_.wait_for(next_packet_, 0);
    if (!received) break;
    taken = true;
    Arrival arrival;
    arrival.process = received->source;
    Envelope& envelope = arrival.envelope;
    std::memcpy(&envelope, packet_.get(), sizeof envelope);
    const bool is_farewell = envelope.to == nobody;
    if (!is_farewell && envelope.rendezvous_tag == 0) {
      arrival.payload = std::make_unique_for_overwrite<std::byte[]>(envelope.bytes);
      std::memcpy(arrival.payload.get(), packet_.get() + sizeof envelope, envelope.bytes);
    }
    if (is_farewell) ++farewells_;
    if (farewells_ < processes_.size()) await_packet();
    if (!is_farewell) deliver_(std::move(arrival));
  }
  return taken;
}

bool RemoteMessages::end_transfers() {
  bool ended = false;
  for (auto transfer = transfers_.begin(); transfer != transfers_.end();) {
    if (!processes_.wait_for(transfer->request, 0)) {
      ++transfer;
      continue;
    }
    const Then then = std::move(transfer->then);
    transfer = transfers_.erase(transfer);
    then();
    ended = true;
  }
  return ended;
}

void RemoteMessages::close(double stall_s) {
  Envelope farewell;
  farewell.to = nobody;
  for (int process = 0; process < processes_.size(); ++process) post(process, farewell, {});
  comm::Competition competition;
  comm::Backoff backoff(competition, comm::Patience::of_sharers());
  while (farewells_ < processes_.size() || !transfers_.empty()) {
    if (poll()) backoff = comm::Backoff(competition, comm::Patience::of_sharers());
    if (backoff.waited_s() > stall_s)
      throw comm::Failure(core::format("process {} has waited {:g} s for the others to end", processes_.rank(), stall_s));
    backoff.pause();
  }
}

}  // namespace paragrad::hosting
