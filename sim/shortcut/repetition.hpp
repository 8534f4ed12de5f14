#pragma once

#include <cstdint>
#include <vector>

#include "sim/shortcut/collective_state.hpp"
#include "sim/shortcut/route_cache.hpp"

namespace paragrad::sim::shortcut {

/// Two workers that repeat the same piece of their programs, communicating only with each other (the segments of a long
/// exchange), soon reach a periodic state: everything between them is as it was one piece earlier, only later in time. Then
/// the remaining pieces are skipped, and all times advance by as many periods.
///
/// Detected by comparing the whole state of the two: clocks, positions in their programs, messages, requests, and the
/// resources between them, which no other worker may have used recently. If another worker later uses them in the skipped
/// time, the timetable gives up.
class Repetition {
 public:
  Repetition(CollectiveState& state, RouteCache& routes) : state_(state), routes_(routes) {}

  /// Call whenever a worker is about to begin a piece.
  void leave_out(int rank) {
    constexpr std::uint32_t worth_looking = 3;
    if (worker(rank).next.times_left() >= worth_looking) look_at(rank);
  }

  std::uint64_t left_out() const { return left_out_; }  ///< skipped pieces, counted once per pair

 private:
  /// A state of two workers; times as distances from the first one's clock.
  struct Picture {
    int rank = -1, peer = -1;  // the lower one first
    Time taken_at = 0;
    const CollectivePrograms::Run* runs[2]{};
    std::uint32_t times_left[2]{};
    std::vector<Time> content;
    std::vector<Time> busy;  // of the resources between them, until then
    bool follows(const Picture& earlier) const;
  };

  void look_at(int rank);
  bool describe();
  bool describe(int rank, int peer);
  void describe_message(std::uint32_t id);
  bool describe_way(int from, int to);
  bool describe_resource(Resources::Id resource);
  void note(Time time);
  Time before_others(Time periods, Time period) const;
  void move_on(Time periods, Time period);

  Worker& worker(int rank) { return state_.workers[static_cast<std::size_t>(rank)]; }

  CollectiveState& state_;
  RouteCache& routes_;
  Picture last_, now_;
  std::uint64_t left_out_ = 0;
  std::vector<std::uint32_t> messages_;  // in the current picture
  Time latest_ = 0;                      // time in it
  Time until_ = never;                   // when another worker's message next uses a resource of one of the two
  std::vector<Resources::Id> resources_;
};

}  // namespace paragrad::sim::shortcut
