#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "comm/communicator.hpp"
#include "hosting/scheduler.hpp"

namespace paragrad::hosting {

/// Messages between the workers of this process, by MPI's rules: from buffer to buffer, and small ones through a copy if no
/// receive is posted yet.
///
/// Cost: a copy by the scheduler's thread; a search among the messages and receives that are open at the receiving worker.
class LocalMessages {
 public:
  static constexpr std::size_t copied_bytes = 64 * 1024;  ///< at most, without a posted receive

  /// carrier: a device of the workers' kind, used to read and write their memory.
  LocalMessages(Scheduler& scheduler, backend::Device& carrier, int workers)
      : scheduler_(scheduler), carrier_(carrier), boxes_(static_cast<std::size_t>(workers)) {}

  // The following are for the running fiber.
  comm::Request start_send(int from, int to, int tag, std::span<const std::byte> data);
  comm::Request start_receive(int worker, int from, int tag, std::span<std::byte> data);

  /// Nothing if the transfer has not ended within the limit; it can be waited for again.
  std::optional<comm::Received> wait_for(comm::Request request, double limit_s, Waits& waits);

  /// For a worker that is about to end with an error: no open transfer touches its memory any more.
  void forget(int worker);

 private:
  struct Transfer {
    fibers::Wait wait;
    comm::Received received;  // of a receive
    bool done = false;
    Scheduler::Fiber* waiter = nullptr;
  };
  struct Message {
    int from, tag;
    std::span<const std::byte> data;    // at the sender, or the copy
    std::unique_ptr<std::byte[]> copy;  // then the send is done
    std::uint64_t request;
  };
  struct Receive {
    int from, tag;
    std::span<std::byte> data;
    std::uint64_t request;

    bool takes(int source, int its_tag) const { return tag == its_tag && (from == comm::any_source || from == source); }
  };
  struct Box {
    std::list<Message> messages;  // in the order in which they were sent
    std::list<Receive> receives;  // in the order in which they were posted
  };

  Box& box(int worker) { return boxes_[static_cast<std::size_t>(worker)]; }
  std::uint64_t open(const char* what, int peer);
  void copy(std::span<const std::byte> from, std::span<std::byte> to);
  void end(std::uint64_t request, const comm::Received& received = {});

  Scheduler& scheduler_;
  backend::Device& carrier_;
  std::vector<Box> boxes_;
  std::unordered_map<std::uint64_t, Transfer> transfers_;
  std::uint64_t requests_ = 0;
};

}  // namespace paragrad::hosting
