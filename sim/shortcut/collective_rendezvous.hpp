#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "sim/engine/engine.hpp"

namespace paragrad::sim {

struct World;

/// Workers that come to a collective in timing mode wait here for the others, and if all come before anything else happens
/// on the network, it is worked out for all of them at once (shortcut/replay.hpp) instead of message by message. Times are
/// the same to the picosecond. Where something else is on its way or begins meanwhile, where messages meet in an order that
/// only the simulation can tell, or where some worker would be back while shared resources are still asked for, nothing has
/// happened: the clock goes back to the first arrival, and the workers do it message by message.
class CollectiveRendezvous {
 public:
  /// enabled: whether the platform and the options allow it at all.
  CollectiveRendezvous(World& world, int host_threads, bool enabled);

  /// A call of one worker's, in the order of its calls. True: done, the worker's own time is that of its end.
  bool join(comm::Communicator& comm, const comm::Collective& collective, std::span<float> data);

  /// To be called by whoever is about to touch the network, after settling.
  void make_way() {
    while (!members_.empty()) dissolve_and_wait();
  }

  /// Nothing else can happen: true if that ended a rendezvous.
  bool nobody_else_comes();

  /// From now on there is other traffic beside that of the workers' own fibers.
  void disable() { enabled_ = false; }

  std::uint64_t shortcuts() const { return shortcuts_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct Member {
    comm::Communicator* comm;
    const comm::Collective* collective;
    std::span<float> data;
    Fiber* fiber;
    Time arrival;
    bool done = false;
  };

  struct Notes;
  std::vector<Notes> take_notes() const;
  bool all_at_once();
  void dissolve(const Fiber* running);
  void dissolve_and_wait();

  World& world_;
  std::size_t host_threads_;
  bool enabled_;
  std::vector<Member*> members_;
  std::vector<std::uint64_t> calls_;      // of each worker
  std::uint64_t message_by_message_ = 0;  // calls up to this one are made so
  std::uint64_t shortcuts_ = 0;
  std::uint64_t left_out_ = 0;  // see TimeRecurrence
};

}  // namespace paragrad::sim
