#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "comm/window.hpp"
#include "sim/messages/mailboxes.hpp"
#include "sim/messages/message_context.hpp"
#include "sim/messages/timeouts.hpp"
#include "sim/network/network.hpp"

namespace paragrad::sim {

class CollectiveInterceptor;

/// One-sided windows of emulated workers, over the same network as the messages. The target's program is not involved. With
/// n bytes, latency α between the two workers (that of a short message), overheads o_s and o_r of a message at its sender
/// and receiver, and t the time of the call:
///
///   lock        requested at the target at t + o_s + α; granted in the order of (that time, rank) as soon as no conflicting
///               lock was requested earlier; returns at granted + α + o_r
///   get         returns at t + o_s; the data leave the target at t + o_s + α; complete when they arrive
///   put         returns at t + o_s, when the data leave; complete α after their arrival
///   accumulate  the same, but additions follow at the target, one after the other: complete α after the end of its
///   addition,
///               which takes as long as on the target's device, or in its node's memory if the platform's hosts reduce
///   unlock      returns at max(t, all complete) + o_s; the lock is free at the target α later
///   fetch_add   done at the target at t + o_s + α; returns at t + o_s + 2α + o_r
///   await       returns at max(t, the fetch_add that satisfied it)
///
/// Reads and writes take effect at these times (a sum is written at the end of its addition); at equal times in rank order.
/// Transfers of n bytes take the time of a message of that size and count as one; control messages without data only take
/// their latency. Opening is a barrier. A dead worker does not respond.
class Windows : private Delivery, private EventHandler {
 public:
  /// interceptor: as for Transport.
  Windows(const MessageContext& context, CollectiveInterceptor* interceptor);
  ~Windows() override;

  /// Opens the window of worker `rank` on a channel (see SimCommunicator): the workers' n-th windows on one channel belong
  /// together. Called by the running fiber, which continues when all others have called it.
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

  MessageContext context_;
  CollectiveInterceptor* interceptor_;
  Time send_overhead_;
  Time receive_overhead_;
  Timeouts timeouts_;
  Pool<Operation> operations_;
  Pool<CounterWait> waits_;
  std::map<std::pair<int, std::size_t>, std::weak_ptr<Shared>> windows_;  // by channel and number
  std::map<std::pair<int, int>, std::size_t> opened_;                     // by rank and channel
  std::vector<Time> deaths_;                                              // empty: no worker dies
  std::unique_ptr<backend::Device> adder_;                                // for additions, on the engine's thread
};

}  // namespace paragrad::sim
