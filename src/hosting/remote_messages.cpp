#include "hosting/remote_messages.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "comm/mpi/backoff.hpp"
#include "core/format.hpp"

namespace paragrad::hosting {
namespace {

constexpr int letter_tag = 0;
constexpr int payload_tags = 30000;  // MPI allows this many, and fewer are ever on the way between two processes
constexpr std::size_t letter_bytes = sizeof(RemoteMessages::Announcement) + RemoteMessages::enclosed_bytes;

constexpr std::int32_t nobody = -1;  // the receiver of a process's last letter

}  // namespace

RemoteMessages::RemoteMessages(comm::Communicator& processes, const Placement& placement, backend::Device& carrier,
                               std::function<void(Arrival)> deliver)
    : processes_(processes),
      placement_(placement),
      carrier_(carrier),
      deliver_(std::move(deliver)),
      letter_(std::make_unique_for_overwrite<std::byte[]>(letter_bytes)),
      payloads_(static_cast<std::size_t>(processes.size())) {
  await_letter();
}

void RemoteMessages::await_letter() {
  next_letter_ = processes_.start_receive(comm::any_source, letter_tag, std::span(letter_.get(), letter_bytes));
}

void RemoteMessages::send(int from, int to, int tag, std::span<const std::byte> data, const Then& sent) {
  const int process = placement_.process_of(to);
  Announcement said{from, to, tag, 0, data.size()};
  if (data.size() <= enclosed_bytes) {
    post(process, said, data);
    return sent();
  }
  std::int32_t& payloads = payloads_[static_cast<std::size_t>(process)];
  said.payload_tag = 1 + payloads++ % payload_tags;
  post(process, said, {});
  transfers_.push_back({processes_.start_send(process, said.payload_tag, data), nullptr, sent});
}

void RemoteMessages::post(int process, const Announcement& said, std::span<const std::byte> enclosed) {
  const std::size_t bytes = sizeof said + enclosed.size();
  auto letter = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::memcpy(letter.get(), &said, sizeof said);
  if (!enclosed.empty()) carrier_.transfer(enclosed, std::span(letter.get() + sizeof said, enclosed.size()));
  const comm::Request request = processes_.start_send(process, letter_tag, std::span<const std::byte>(letter.get(), bytes));
  transfers_.push_back({request, std::move(letter), [] {}});
}

void RemoteMessages::fetch(const Announcement& said, int process, std::span<std::byte> into, Then received) {
  const comm::Request request = processes_.start_receive(process, said.payload_tag, into.first(said.bytes));
  transfers_.push_back({request, nullptr, std::move(received)});
}

bool RemoteMessages::poll() {
  const bool taken = take_letters(), ended = end_transfers();
  if (!taken && !ended) look_for_deaths();
  return taken || ended;
}

void RemoteMessages::look_for_deaths() {
  constexpr double look_every_s = 0.1;
  const double now_s = processes_.now_s();
  if (now_s < look_at_s_) return;
  look_at_s_ = now_s + look_every_s;
  for (int other = 0; other < processes_.size(); ++other)
    if (other != process() && processes_.membership().is_gone(other))
      throw comm::PeerGone(other, core::format("process {}: process {} has ended", process(), other));
}

bool RemoteMessages::take_letters() {
  bool taken = false;
  while (farewells_ < processes_.size()) {
    const auto received = processes_.wait_for(next_letter_, 0);
    if (!received) break;
    taken = true;
    Arrival arrival;
    arrival.process = received->source;
    std::memcpy(&arrival.said, letter_.get(), sizeof arrival.said);
    const bool is_farewell = arrival.said.to == nobody;
    if (!is_farewell && arrival.said.payload_tag == 0) {
      arrival.enclosed = std::make_unique_for_overwrite<std::byte[]>(arrival.said.bytes);
      std::memcpy(arrival.enclosed.get(), letter_.get() + sizeof arrival.said, arrival.said.bytes);
    }
    if (is_farewell) ++farewells_;
    if (farewells_ < processes_.size()) await_letter();
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
  Announcement farewell;
  farewell.to = nobody;
  for (int process = 0; process < processes_.size(); ++process) post(process, farewell, {});
  comm::Backoff backoff(comm::Patience::of_sharers());
  while (farewells_ < processes_.size() || !transfers_.empty()) {
    if (poll()) backoff = comm::Backoff(comm::Patience::of_sharers());
    if (backoff.waited_s() > stall_s)
      throw comm::Failure(core::format("process {} has waited {:.0f} s for the others to end", process(), stall_s));
    backoff.pause();
  }
}

}  // namespace paragrad::hosting
