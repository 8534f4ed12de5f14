#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "backend/kernels.hpp"
#include "comm/window.hpp"
#include "sim/messages/mailboxes.hpp"
#include "sim/messages/timeouts.hpp"
#include "sim/network/network.hpp"

namespace paragrad::sim {

struct World;

/// One-sided windows of emulated workers, over the network that carries the messages. The target's program has no part in
/// it. With n bytes, latency α between the two (that of a short message), costs o_s and o_r of a message at its sender and
/// receiver, and t the time of the call:
///
///   lock        asked for at the target at t + o_s + α; granted in the order of (that time, rank) as soon as no lock that
///               was asked for earlier excludes it; goes on at granted + α + o_r
///   get         goes on at t + o_s; the data leave the target at t + o_s + α; complete when they are here
///   put         goes on at t + o_s, when the data leave; complete α after their arrival
///   accumulate  the same, but at the target the additions follow, one after the other: complete α after the end of its own,
///               which takes as long as on the target's device, or in its node's memory where the platform's hosts reduce
///   unlock      goes on at max(t, all complete) + o_s; the lock is free at the target α later
///   fetch_add   done at the target at t + o_s + α; goes on at t + o_s + 2α + o_r
///   await       goes on at max(t, the fetch_add that was enough)
///
/// What is read and written is what is there at these times (a sum is written at the end of its addition); at equal times
/// the order is that of the ranks. Data of n bytes travel like a message of that size and count as one; words without data
/// only take their time. Opening is a barrier. A worker that has died answers nothing.
class Windows : private Delivery, private EventHandler {
 public:
  Windows(World& world, const Platform::Message& costs);
  ~Windows() override;

  /// Of worker `rank`, on a channel (see SimCommunicator): the workers' n-th windows on one channel belong together. For the
  /// running fiber, which lets all others come before it goes on.
  std::unique_ptr<comm::Window> open(int rank, int channel, backend::Device& device, std::size_t floats,
                                     std::size_t counters);

 private:
  class Handle;
  struct Shared;
  struct RankPart;
  struct Held;
  struct Operation;
  struct CounterWait;

  void arrives(std::uint64_t operation, Time at) override;
  void sent(std::uint64_t, Time) override {}
  void fire(std::uint64_t operation) override;

  Time leave();
  void stop_if_dead(int rank);
  bool answers(int rank) const;
  void at_target(Id operation, int actor, Time at);
  void request(Id id, Operation& operation);
  void arrived(Id id, Operation& operation);
  void complete(Id id, Time at);
  void grant(const std::shared_ptr<Shared>& window, int target);
  void count(const Operation& operation);
  Time add(const Operation& operation);
  void give_up(std::uint64_t wait);

  World& world_;
  Time send_overhead_;
  Time receive_overhead_;
  Timeouts timeouts_;
  Pool<Operation> operations_;
  Pool<CounterWait> waits_;
  std::map<std::pair<int, std::size_t>, std::weak_ptr<Shared>> windows_;  // by channel and number
  std::map<std::pair<int, int>, std::size_t> opened_;                     // by rank and channel
  std::vector<Time> deaths_;                                              // empty: nobody dies
  std::unique_ptr<backend::Device> adder_;                                // additions happen on the engine's thread
};

}  // namespace paragrad::sim
