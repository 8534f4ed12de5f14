#include "sim/shortcut/program.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace paragrad::sim::shortcut {
void Programs::end_worker() {
  if (!current_.empty()) end_piece();
  workers_.push_back(pieces_.size());
}

void Programs::end_piece() {
  const auto number = static_cast<std::uint32_t>(begins_.size() - 1);
  const auto [found, is_new] = known_.try_emplace(std::exchange(hash_, 0), number);
  const auto known = operations_.begin() + static_cast<std::ptrdiff_t>(begins_[found->second]);
  const bool same = !is_new && begins_[found->second + 1] - begins_[found->second] == current_.size() &&
                    std::equal(current_.begin(), current_.end(), known);
  if (same) {
    pieces_.push_back(found->second);
  } else {
    operations_.insert(operations_.end(), current_.begin(), current_.end());
    begins_.push_back(operations_.size());
    pieces_.push_back(number);
  }
  current_.clear();
}

std::uint32_t Programs::index_of(int tag) {
  const auto found = std::find(tags_.begin(), tags_.end(), tag);
  const auto index = static_cast<std::uint32_t>(found - tags_.begin());
  if (found == tags_.end() && index < none) tags_.push_back(tag);
  return index;
}

Programs::Cursor Programs::start(int rank) const {
  Cursor cursor;
  cursor.piece_ = workers_[static_cast<std::size_t>(rank)];
  cursor.last_piece_ = workers_[static_cast<std::size_t>(rank) + 1];
  enter(cursor);
  return cursor;
}

void Programs::enter(Cursor& cursor) const {
  if (cursor.piece_ == cursor.last_piece_) {
    cursor.operation_ = cursor.end_;
    return;
  }
  const std::uint32_t piece = pieces_[cursor.piece_];
  cursor.operation_ = operations_.data() + begins_[piece];
  cursor.end_ = operations_.data() + begins_[piece + 1];
}

void Programs::advance(Cursor& cursor) const {
  if (++cursor.operation_ != cursor.end_) return;
  ++cursor.piece_;
  enter(cursor);
}

Recorder::Recorder(comm::Communicator& worker, Programs& programs)
    : Communicator(worker.device()), programs_(programs), rank_(worker.rank()), size_(worker.size()) {
  set_workers_per_node(worker.workers_per_node());
}

void Recorder::note(Operation::Kind kind, int peer, int tag, std::uint64_t value) {
  if (tag != last_tag_) {
    last_tag_ = tag;
    last_tag_index_ = programs_.index_of(tag);
  }
  if (value > std::numeric_limits<std::uint32_t>::max() || last_tag_index_ == Programs::none || peer < 0) {
    possible_ = false;
    return;
  }
  const auto distance = static_cast<std::uint32_t>(peer >= rank_ ? peer - rank_ : peer + size_ - rank_);
  programs_.add(
      {static_cast<std::uint32_t>(kind) | last_tag_index_ << 2 | distance << 4, static_cast<std::uint32_t>(value)});
}

comm::Request Recorder::start_send(int to, int tag, std::span<const std::byte> data) {
  ++messages_;
  bytes_ += data.size();
  note(Operation::Kind::send, to, tag, data.size());
  return {requests_++};
}

comm::Request Recorder::start_receive(int from, int tag, std::span<std::byte>) {
  note(Operation::Kind::receive, from, tag, 0);
  return {requests_++};
}

comm::Received Recorder::wait(comm::Request request) {
  const std::uint64_t age = requests_ - request.id;
  note(Operation::Kind::wait, rank_, last_tag_, age);
  programs_.note_request(static_cast<std::uint32_t>(age));
  return {};
}

// The clock and the transport's own routine: nothing that can be told beforehand.
double Recorder::now_s() {
  possible_ = false;
  return 0;
}

void Recorder::library_allreduce(std::span<float>) { possible_ = false; }

void Recorder::add(std::span<const float>, std::span<float> to) { note(Operation::Kind::add, rank_, last_tag_, to.size()); }

}  // namespace paragrad::sim::shortcut
