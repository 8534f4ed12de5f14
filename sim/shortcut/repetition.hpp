#pragma once

#include <cstdint>
#include <vector>

#include "sim/shortcut/collective_state.hpp"
#include "sim/shortcut/route_cache.hpp"

namespace paragrad::sim::shortcut {

/// Two workers that do the same piece of their programs time and again, with each other alone (the segments of a long
/// exchange), soon do it in step: everything between them is as it was one piece before, only later. Then the pieces that
/// remain are left out, and all times move on by as many periods.
///
/// Found by comparing the whole state of the two: clocks, places in their programs, messages, requests, and the resources
/// between them, of which nobody else may have made use lately. Who does so afterwards, for a time that was left out, makes
/// the timetable give up.
class Repetition {
 public:
  Repetition(CollectiveState& state, RouteCache& routes) : state_(state), routes_(routes) {}

  /// To be called whenever a worker is about to begin a piece.
  void leave_out(int rank) {
    constexpr std::uint32_t worth_looking = 3;
    if (worker(rank).next.times_left() >= worth_looking) look_at(rank);
  }

  std::uint64_t left_out() const { return left_out_; }  ///< pieces, of one of the two each time

 private:
  /// A state of two workers; times as distances from the first one's clock.
  struct Picture {
    int rank = -1, peer = -1;  // the lower one first
    Time taken_at = 0;
    const CollectivePrograms::Run* runs[2]{};
    std::uint32_t times_left[2]{};
    std::vector<Time> content;
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
  std::vector<std::uint32_t> messages_;  // in the picture of now
  Time latest_ = 0;                      // time in it
  Time until_ = never;                   // then a message of somebody else asks for something at one of the two
  std::vector<Resources::Id> resources_;
};

}  // namespace paragrad::sim::shortcut
