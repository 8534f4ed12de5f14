#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "comm/communicator.hpp"
#include "sim/engine/time.hpp"

namespace paragrad::sim::shortcut {

/// An action of a worker in a collective, as far as it affects the clock or other workers.
struct Operation {
  enum class Kind : std::uint32_t { send, receive, wait, add, compute };

  Kind kind() const { return static_cast<Kind>(word & 7); }
  std::uint32_t tag() const { return word >> 3 & 3; }  ///< offset from the first reserved tag
  int peer() const { return static_cast<int>(word >> 5); }

  std::uint32_t word = 0;   ///< kind, tag, and peer as a distance from this worker modulo the number of workers
  std::uint32_t value = 0;  ///< bytes to send; age of the request to wait for, 1 = the latest; floats to add; picoseconds

  bool operator==(const Operation&) const = default;
};

/// The operations of some workers. The control flow of a collective depends only on (rank, size, length), so they can be
/// recorded in advance. They are cut into pieces; identical pieces of several workers, or repeated ones, are stored once.
class CollectivePrograms {
 public:
  /// A piece and its number of consecutive repetitions.
  struct Run {
    std::uint64_t first = 0;  ///< of its operations
    std::uint32_t length = 0;
    std::uint32_t times = 0;
  };

  /// Iterates over the operations of one worker. Valid until something is added.
  class Cursor {
   public:
    bool at_end() const { return operation_ == end_; }
    const Operation& operator*() const { return *operation_; }
    void advance() {
      if (++operation_ == end_) turn();
    }

    const Run& run() const { return *run_; }
    std::span<const Operation> piece() const { return {end_ - run_->length, end_}; }
    std::uint32_t position() const { return static_cast<std::uint32_t>(operation_ - (end_ - run_->length)); }
    std::uint32_t times_left() const { return times_left_; }  ///< repetitions of the piece, including the current one
    void leave_out(std::uint32_t times) { times_left_ -= times; }

   private:
    friend class CollectivePrograms;
    void enter();
    void turn();

    const Operation* operations_ = nullptr;
    const Operation* operation_ = nullptr;
    const Operation* end_ = nullptr;
    const Run* run_ = nullptr;
    const Run* last_run_ = nullptr;
    std::uint32_t times_left_ = 0;
  };

  void add(Operation operation) {
    current_.push_back(operation);
    if (current_.size() == piece_operations) end_piece();
  }
  void add_repeated(std::span<const Operation> piece, std::uint32_t times);
  void end_worker();  ///< subsequent operations belong to the next worker

  /// Starts at the operations of the worker added as number `number`.
  Cursor start(std::size_t number) const;

 private:
  static constexpr std::size_t piece_operations = 20;  // a few times what algorithms do for one message

  struct Piece {
    std::uint64_t first;
    std::uint32_t length;
  };

  void end_piece();
  std::uint32_t find_or_keep();

  std::vector<Operation> current_;  // piece
  std::vector<Operation> operations_;
  std::vector<Piece> pieces_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // hash of a piece; looked up only
  std::vector<Run> runs_;
  std::vector<std::size_t> workers_{0};  // where the runs of a worker begin, and the end of the last one's
};

/// Records what a worker would do instead of doing it. Supports only named sources, the tags of collectives, messages below
/// 4 GB, and kernels whose time is known in advance; otherwise possible() is false afterwards.
class Recorder : public comm::Communicator, private comm::SimulatedTime {
 public:
  using TimeOf = std::function<std::optional<Time>(const backend::WorkMeter&)>;  ///< nothing: not known in advance

  /// received_bytes: of each worker; what is sent to it is added.
  Recorder(comm::Communicator& worker, CollectivePrograms& programs, std::span<std::uint64_t> received_bytes,
           const TimeOf& time_of);

  comm::Request start_send(int to, int tag, std::span<const std::byte> data) override;
  comm::Request start_receive(int from, int tag, std::span<std::byte> data) override;
  comm::Received wait(comm::Request request) override;
  std::optional<comm::Received> wait_for(comm::Request request, double limit_s) override;
  double now_s() override;
  void add(std::span<const float> from, std::span<float> to) override;
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override;
  void library_routine(comm::Library, comm::Operation, std::span<const float>, std::span<float>) override;

  bool possible() const { return possible_; }

  /// The largest age, counted in requests, of a request that the worker waits for.
  std::uint32_t oldest_request() const { return oldest_request_; }

 private:
  double observed_s() override { return now_s(); }
  std::size_t skip_repeated(std::size_t turns) override;
  void count(int to, std::uint64_t bytes, std::uint64_t messages);
  void note(Operation::Kind kind, int peer, int tag, std::uint64_t value);

  CollectivePrograms& programs_;
  std::span<std::uint64_t> received_bytes_;
  const TimeOf& time_of_;
  bool possible_ = true;
  std::vector<Operation> turn_, last_turn_;  // between calls of skip_repeated
  std::uint64_t requests_ = 0;
  std::uint32_t oldest_request_ = 1;
};

}  // namespace paragrad::sim::shortcut
