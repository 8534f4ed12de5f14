#include "sim/shortcut/collective_program.hpp"

#include <algorithm>
#include <limits>

#include "backend/kernel_list.hpp"
#include "comm/tags.hpp"

namespace paragrad::sim::shortcut {

void CollectivePrograms::add_repeated(std::span<const Operation> piece, std::uint32_t times) {
  end_piece();
  current_.assign(piece.begin(), piece.end());
  end_piece();
  runs_.back().times += times - 1;
}

void CollectivePrograms::end_worker() {
  end_piece();
  workers_.push_back(runs_.size());
}

void CollectivePrograms::end_piece() {
  if (current_.empty()) return;
  const Piece& piece = pieces_[find_or_keep()];
  current_.clear();
  const bool first = runs_.size() == workers_.back();  // of the worker's
  if (!first && runs_.back().first == piece.first)
    ++runs_.back().times;
  else
    runs_.push_back({piece.first, piece.length, 1});
}

std::uint32_t CollectivePrograms::find_or_keep() {
  std::uint64_t hash = 0;
  for (const Operation& operation : current_) {
    hash = (hash ^ (std::uint64_t{operation.word} << 32 | operation.value)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  const auto number = static_cast<std::uint32_t>(pieces_.size());
  const auto [found, is_new] = known_.try_emplace(hash, number);
  const auto alike = [this](const Piece& piece) {
    return piece.length == current_.size() &&
           std::equal(current_.begin(), current_.end(), operations_.begin() + static_cast<std::ptrdiff_t>(piece.first));
  };
  if (!is_new && alike(pieces_[found->second])) return found->second;
  pieces_.push_back({operations_.size(), static_cast<std::uint32_t>(current_.size())});
  operations_.insert(operations_.end(), current_.begin(), current_.end());
  return number;
}

CollectivePrograms::Cursor CollectivePrograms::start(std::size_t number) const {
  Cursor cursor;
  cursor.operations_ = operations_.data();
  cursor.run_ = runs_.data() + workers_[number];
  cursor.last_run_ = runs_.data() + workers_[number + 1];
  cursor.enter();
  return cursor;
}

void CollectivePrograms::Cursor::enter() {
  if (run_ == last_run_) {
    operation_ = end_;
    return;
  }
  operation_ = operations_ + run_->first;
  end_ = operation_ + run_->length;
  times_left_ = run_->times;
}

/// A piece has been done once more.
void CollectivePrograms::Cursor::turn() {
  if (--times_left_ > 0) {
    operation_ = end_ - run_->length;
  } else {
    ++run_;
    enter();
  }
}

Recorder::Recorder(comm::Communicator& worker, CollectivePrograms& programs, std::span<std::uint64_t> received_bytes,
                   const TimeOf& time_of)
    : Communicator(worker.device(), worker.rank(), worker.size()),
      programs_(programs),
      received_bytes_(received_bytes),
      time_of_(time_of) {
  set_simulated_time(*this);
  set_workers_per_node(worker.workers_per_node());
  set_segmentation(worker.segmentation());
}

void Recorder::count(int to, std::uint64_t bytes, std::uint64_t messages) {
  traffic_meter()->sent(messages * bytes, messages);
  received_bytes_[static_cast<std::size_t>(to)] += messages * bytes;
}

void Recorder::note(Operation::Kind kind, int peer, int tag, std::uint64_t value) {
  const auto tag_index = static_cast<std::uint32_t>(tag - comm::first_reserved_tag);
  if (value > std::numeric_limits<std::uint32_t>::max() || tag_index > 3 || peer < 0) {
    possible_ = false;
    return;
  }
  const auto distance = static_cast<std::uint32_t>(peer >= rank() ? peer - rank() : peer + size() - rank());
  const Operation operation{static_cast<std::uint32_t>(kind) | tag_index << 3 | distance << 5,
                            static_cast<std::uint32_t>(value)};
  programs_.add(operation);
  turn_.push_back(operation);
}

comm::Request Recorder::start_send(int to, int tag, std::span<const std::byte> data) {
  count(to, data.size(), 1);
  note(Operation::Kind::send, to, tag, data.size());
  return {requests_++};
}

comm::Request Recorder::start_receive(int from, int tag, std::span<std::byte>) {
  note(Operation::Kind::receive, from, tag, 0);
  return {requests_++};
}

comm::Received Recorder::wait(comm::Request request) {
  const std::uint64_t age = requests_ - request.id;
  note(Operation::Kind::wait, rank(), comm::first_reserved_tag, age);
  oldest_request_ = std::max(oldest_request_, static_cast<std::uint32_t>(age));
  return {};
}

// Timeouts, the clock and the transport's own routine cannot be recorded in advance.
std::optional<comm::Received> Recorder::wait_for(comm::Request, double) {
  possible_ = false;
  return comm::Received{};
}

double Recorder::now_s() {
  possible_ = false;
  return 0;
}

void Recorder::library_routine(comm::Library, comm::Operation, std::span<const float>, std::span<float>) {
  possible_ = false;
}

void Recorder::add(std::span<const float>, std::span<float> to) {
  note(Operation::Kind::add, rank(), comm::first_reserved_tag, to.size());
}

void Recorder::run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) {
  constexpr Time longest = std::numeric_limits<std::uint32_t>::max();  // that an operation can hold: 4 ms
  backend::KernelList list(device());
  kernels(list);
  const std::optional<Time> time = time_of_(list.meter());
  possible_ &= time.has_value() && !list.has_begun();
  for (Time rest = time.value_or(0); rest > 0; rest -= std::min(rest, longest))
    note(Operation::Kind::compute, rank(), comm::first_reserved_tag, static_cast<std::uint64_t>(std::min(rest, longest)));
}

/// Four iterations make a piece: the pattern of two workers in lock step repeats after a few iterations, not always after
/// one.
std::size_t Recorder::skip_repeated(std::size_t turns) {
  constexpr std::size_t turns_of_piece = 4;
  const bool as_before = !turn_.empty() && turn_ == last_turn_;
  std::swap(turn_, last_turn_);
  turn_.clear();
  const std::size_t pieces = as_before ? turns / turns_of_piece : 0;
  if (pieces == 0) return 0;
  std::vector<Operation> piece;
  for (std::size_t turn = 0; turn < turns_of_piece; ++turn) piece.insert(piece.end(), last_turn_.begin(), last_turn_.end());
  programs_.add_repeated(piece, static_cast<std::uint32_t>(pieces));
  for (const Operation& operation : last_turn_) {
    if (operation.kind() != Operation::Kind::send) continue;
    count((rank() + operation.peer()) % size(), operation.value, pieces * turns_of_piece);
  }
  return pieces * turns_of_piece;
}

}  // namespace paragrad::sim::shortcut
