#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"

namespace paragrad::python {

/// Compares what the workers call before they communicate, so that calls that do not match end with a sentence and not with
/// a wait without end. For MPI ranks; other worlds notice by themselves that all workers wait.
///
/// Every worker announces each call to all others, and proceeds when those that it needs have announced theirs. Waiting, it
/// knows for whom everybody waits: a cycle is a deadlock. An announcement of one worker never overtakes another of the same
/// worker, so what a worker knows is out of date at most where it is not part of a cycle.
///
/// All functions throw ConfigError with the two calls that do not match. name: of the strategy, for this message.
class CallChecker {
 public:
  /// Null where it is not needed.
  static std::unique_ptr<CallChecker> make(comm::Communicator& workers, std::string name);

  /// function: of the strategy that is called next, start, begin_epoch, step, meet, synchronise, show_model or resume_work.
  void begin(std::string_view function);
  void allreduce(std::size_t length) { meet({.kind = Kind::allreduce, .length = length}); }
  void sum() { meet({.kind = Kind::sum}); }
  /// The function has returned. Needed before workers communicate outside of the strategy.
  void end() { meet({.kind = Kind::end}); }

  /// to, from: ranks, or nobody.
  void transfer(int to, int from);

  static constexpr int nobody = -1;

 private:
  enum class Kind : std::uint32_t { none, allreduce, sum, end, transfer };
  struct Call {
    Kind kind = Kind::none;
    std::uint32_t function = 0;
    std::uint64_t length = 0;
    std::int32_t to = nobody, from = nobody;

    bool operator==(const Call&) const = default;
  };
  struct Peer {
    Call last{};                                       ///< it may still be in
    std::uint64_t meetings = 0;                        ///< of all workers, announced so far
    std::map<int, std::uint64_t> sends{}, receives{};  ///< announced so far, by the other worker
  };

  CallChecker(std::unique_ptr<comm::Communicator> channel, std::string name);

  void meet(Call call);
  void announce(Call call);
  int take_announcement();  ///< returns whose it was
  void expect_same_meeting(int rank) const;
  void record(int rank, const Call& call);
  bool waits_for(int rank, int other) const;
  bool has_transferred() const;
  enum class Visit { none, on_path, done };
  bool leads_to_a_cycle(int rank, std::vector<Visit>& visits) const;
  void stop_if_stuck() const;
  [[noreturn]] void refuse(int other) const;
  std::string describe(int rank) const;

  Peer& own() { return peers_[static_cast<std::size_t>(channel_->rank())]; }

  std::unique_ptr<comm::Communicator> channel_;
  std::string name_;
  std::uint32_t function_ = 0;
  std::vector<Peer> peers_;  // by rank, this worker among them
};

}  // namespace paragrad::python
