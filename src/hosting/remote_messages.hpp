#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace paragrad::hosting {

/// Messages between workers of different processes. Each begins with an envelope; short ones travel with it (eagerly),
/// longer ones from buffer to buffer once their receive is posted (rendezvous).
///
/// Transfers advance in poll() only. Cost of a message: one between the processes, or two.
class RemoteMessages {
 public:
  static constexpr std::size_t eager_bytes = 8 * 1024;  ///< at most

  struct Envelope {
    std::int32_t from = 0, to = 0, tag = 0;  ///< workers, and their tag
    std::int32_t rendezvous_tag = 0;         ///< of the message between the processes that carries the payload; 0: eager
    std::uint64_t bytes = 0;                 ///< of the payload
  };
  struct Arrival {
    Envelope envelope;
    int process = 0;
    std::unique_ptr<std::byte[]> payload;  ///< of an eager message
  };
  using Then = std::function<void()>;

  /// processes: used for nothing else, by one thread; must outlive this. carrier: a device of the workers' kind, used to
  /// read their memory. deliver: takes what arrives, in the order in which a process sent it.
  RemoteMessages(comm::Communicator& processes, backend::Device& carrier, std::function<void(Arrival)> deliver);

  /// From a worker of this process to one of another. sent: called when the memory of `data` may be used again, perhaps at
  /// once.
  void send(int process, int from, int to, int tag, std::span<const std::byte> data, const Then& sent);

  /// Receives the payload of a message that is not eager.
  void fetch(const Envelope& envelope, int process, std::span<std::byte> into, Then received);

  /// Lets transfers end and messages arrive. Returns whether any has. Throws PeerGone if a process is known to have died.
  bool poll();

  /// Collective, when the workers of this process have ended; returns when those of all have, and what was sent has arrived.
  /// Throws Failure after stall_s seconds in which nothing happened.
  void close(double stall_s);

 private:
  struct Transfer {
    comm::Request request;
    std::unique_ptr<std::byte[]> packet;
    Then then;
  };

  void await_packet();
  void post(int process, const Envelope& envelope, std::span<const std::byte> payload);
  bool take_packets();
  bool end_transfers();
  void look_for_deaths();

  comm::Communicator& processes_;
  backend::Device& carrier_;
  std::function<void(Arrival)> deliver_;
  std::unique_ptr<std::byte[]> packet_;  // the next to arrive: an envelope and perhaps a payload
  comm::Request next_packet_;
  std::list<Transfer> transfers_;
  std::vector<std::uint32_t> rendezvous_;  // begun with each process so far
  double look_at_s_ = 0;                   // for deaths
  int farewells_ = 0;                      // of processes whose workers have ended
};

}  // namespace paragrad::hosting
