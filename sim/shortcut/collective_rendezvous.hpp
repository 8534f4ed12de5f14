#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "sim/engine/engine.hpp"
#include "sim/messages/interceptor.hpp"
#include "sim/messages/message_context.hpp"

namespace paragrad::sim {

/// Workers that reach a collective in timing mode wait here for the others. If all arrive before anything else happens on
/// the network, its times are computed for all workers at once (shortcut/time_recurrence.hpp) instead of message by message.
/// They are the same to the picosecond. The shortcut is undone if other messages are in flight or start meanwhile, if the
/// order in which messages meet can only be found by simulation, or if a worker would return while shared resources are
/// still being requested: then the clock goes back to the first arrival, and the workers run the collective message by
/// message.
class CollectiveRendezvous final : public CollectiveInterceptor {
 public:
  /// network_is_idle: whether no message is in flight and no receive is waiting.
  CollectiveRendezvous(const MessageContext& context, int host_threads, std::function<bool()> network_is_idle);

  bool join(comm::Communicator& comm, const comm::Collective& collective, std::span<float> data) override;

  void make_way() override {
    while (!members_.empty()) dissolve_and_wait();
  }

  bool nobody_else_comes() override;
  void disable() override { enabled_ = false; }
  std::uint64_t shortcuts() const override { return shortcuts_; }
  std::uint64_t left_out() const override { return left_out_; }

 private:
  struct Member {
    comm::Communicator* comm;
    const comm::Collective* collective;
    std::span<float> data;
    Fiber* fiber;
    Time arrival;
    bool done = false;
    comm::Traffic sent{};  // in the collective
  };

  struct Notes;
  std::vector<Notes> take_notes() const;
  bool all_at_once();
  void dissolve(const Fiber* running);
  void dissolve_and_wait();

  MessageContext context_;
  std::size_t host_threads_;
  std::function<bool()> network_is_idle_;
  bool enabled_ = true;
  std::vector<Member*> members_;
  std::vector<std::uint64_t> calls_;      // of each worker
  std::uint64_t message_by_message_ = 0;  // calls up to this one run message by message
  std::uint64_t shortcuts_ = 0;
  std::uint64_t left_out_ = 0;  // see TimeRecurrence
};

}  // namespace paragrad::sim
