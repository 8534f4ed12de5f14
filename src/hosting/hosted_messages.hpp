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
#include "hosting/placement.hpp"
#include "hosting/remote_messages.hpp"
#include "hosting/scheduler.hpp"

namespace paragrad::hosting {

/// The messages of the workers of this process, by MPI's rules: from buffer to buffer, and small ones through a copy if no
/// receive is posted yet. Those between two processes are carried by RemoteMessages.
///
/// Cost: a copy by the scheduler's thread; a search among the messages and receives that are open at the receiving worker.
class HostedMessages {
 public:
  static constexpr std::size_t copied_bytes = 64 * 1024;  ///< at most, without a posted receive

  /// carrier: a device of the workers' kind, used to read and write their memory. processes: that share the workers;
  /// nullptr: they are all here.
  HostedMessages(Scheduler& scheduler, backend::Device& carrier, int workers, comm::Communicator* processes);

  int first() const { return placement_.first(process_); }  ///< worker of this process
  int here() const { return placement_.count(process_); }   ///< workers of this process

  /// Lets messages between processes arrive. Throws PeerGone if a process has died.
  void poll() {
    if (remote_) remote_->poll();
  }

  /// Collective among the processes, when the workers have ended.
  void close(double stall_s) {
    if (remote_) remote_->close(stall_s);
  }

  // The following are for the running fiber.
  comm::Request start_send(int from, int to, int tag, std::span<const std::byte> data);
  comm::Request start_receive(int worker, int from, int tag, std::span<std::byte> data);

  /// Nothing if the transfer has not ended within the limit; it can be waited for again.
  std::optional<comm::Received> wait_for(comm::Request request, double limit_s, Waits& waits);

  /// For a worker that is about to end with an error: no open transfer within this process touches its memory any more. One
  /// to or from another process may until the run ends, which it then must.
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
    std::span<const std::byte> data;                  // at the sender, or the copy
    std::unique_ptr<std::byte[]> copy;                // then the send is done
    std::optional<std::uint64_t> request{};           // of a send of this process that is not done
    std::optional<RemoteMessages::Arrival> remote{};  // instead of data: the payload has to be fetched
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

  Box& box(int worker) { return boxes_[static_cast<std::size_t>(worker - first())]; }
  void arrive(RemoteMessages::Arrival arrival);
  bool hand_over(int worker, const Message& message);
  void take(const Message& message, const Receive& receive);
  std::uint64_t open(const char* what, int peer);
  void copy(std::span<const std::byte> from, std::span<std::byte> to);
  void end(std::uint64_t request, const comm::Received& received = {});

  Scheduler& scheduler_;
  backend::Device& carrier_;
  Placement placement_;
  int process_;
  std::vector<Box> boxes_;
  std::unordered_map<std::uint64_t, Transfer> transfers_;
  std::uint64_t requests_ = 0;
  std::optional<RemoteMessages> remote_;
};

}  // namespace paragrad::hosting
