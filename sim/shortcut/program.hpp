#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "comm/communicator.hpp"

namespace paragrad::sim::shortcut {

/// What a worker does in a collective, as far as the clock and others are concerned.
struct Operation {
  enum class Kind : std::uint32_t { send, receive, wait, add };

  Kind kind() const { return static_cast<Kind>(word & 3); }
  std::uint32_t tag() const { return word >> 2 & 3; }  ///< index of a tag
  int peer() const { return static_cast<int>(word >> 4); }

  std::uint32_t word = 0;   ///< kind, tag and peer, as a distance from this worker modulo the number of workers
  std::uint32_t value = 0;  ///< bytes to send; which request to wait for, 1 = the last one; floats to add

  bool operator==(const Operation&) const = default;
};

/// The operations of all workers. Control flow of a collective depends on (rank, size, length) alone, so they can be had
/// beforehand. Pieces that several workers, or one worker time and again, have alike are kept once.
class Programs {
 public:
  /// Reads the operations of one worker, one after the other.
  class Cursor {
   public:
    bool at_end() const { return operation_ == end_; }
    const Operation& operator*() const { return *operation_; }

   private:
    friend class Programs;
    const Operation* operation_ = nullptr;
    const Operation* end_ = nullptr;
    std::size_t piece_ = 0, last_piece_ = 0;
  };

  void add(Operation operation) {
    hash_ = (hash_ ^ (std::uint64_t{operation.word} << 32 | operation.value)) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 29;
    current_.push_back(operation);
    if (current_.size() == piece_operations) end_piece();
  }
  void end_worker();  ///< what follows is the next worker's

  /// The index of a tag in operations; none if there are too many.
  std::uint32_t index_of(int tag);
  static constexpr std::uint32_t none = 4;

  /// How long ago the oldest request was made that anybody waits for, in requests.
  std::uint32_t oldest_request() const { return oldest_request_; }
  void note_request(std::uint32_t age) { oldest_request_ = age > oldest_request_ ? age : oldest_request_; }

  Cursor start(int rank) const;
  void advance(Cursor& cursor) const;

 private:
  static constexpr std::size_t piece_operations = 60;  // a multiple of what algorithms do per message

  void end_piece();
  void enter(Cursor& cursor) const;

  std::vector<Operation> current_;        // piece
  std::uint64_t hash_ = 0;                // of it
  std::vector<Operation> operations_;     // of all pieces
  std::vector<std::uint64_t> begins_{0};  // of pieces, and the end of the last
  std::vector<std::uint32_t> pieces_;     // of all workers
  std::vector<std::size_t> workers_{0};   // where the pieces of a worker begin, and the end of the last one's
  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // hash of a piece; looked up only
  std::vector<int> tags_;
  std::uint32_t oldest_request_ = 1;
};

/// Writes down what a worker does instead of doing it. Only named sources, a few tags, messages below 4 GB; otherwise
/// possible() is false afterwards.
class Recorder : public comm::Communicator {
 public:
  Recorder(comm::Communicator& worker, Programs& programs);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  comm::Request start_send(int to, int tag, std::span<const std::byte> data) override;
  comm::Request start_receive(int from, int tag, std::span<std::byte> data) override;
  comm::Received wait(comm::Request request) override;
  double now_s() override;
  void add(std::span<const float> from, std::span<float> to) override;
  void library_allreduce(std::span<float>) override;

  bool possible() const { return possible_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void note(Operation::Kind kind, int peer, int tag, std::uint64_t value);

  Programs& programs_;
  int rank_;
  int size_;
  bool possible_ = true;
  int last_tag_ = -1;
  std::uint32_t last_tag_index_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace paragrad::sim::shortcut
