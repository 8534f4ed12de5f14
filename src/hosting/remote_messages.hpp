#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "hosting/placement.hpp"

namespace paragrad::hosting {

/// Messages between workers of different processes. Each is announced by a letter to the process of its receiver; short ones
/// are enclosed in it, longer ones go from buffer to buffer once their receive is posted.
///
/// Needs the processes' attention: transfers advance in poll() only. Cost of one: a letter of up to 8 kB and, beyond that, a
/// second message.
class RemoteMessages {
 public:
  static constexpr std::size_t enclosed_bytes = 8 * 1024;  ///< at most

  /// What a letter says.
  struct Announcement {
    std::int32_t from = 0, to = 0, tag = 0;  ///< workers, and their tag
    std::int32_t payload_tag = 0;            ///< of the message between the processes that follows; 0: it is enclosed
    std::uint64_t bytes = 0;
  };
  struct Arrival {
    Announcement said;
    int process = 0;
    std::unique_ptr<std::byte[]> enclosed;
  };
  using Then = std::function<void()>;

  /// processes: used for nothing else, by one thread; must outlive this. carrier: a device of the workers' kind, used to
  /// read their memory. deliver: takes what arrives, in the order in which a process sent it.
  RemoteMessages(comm::Communicator& processes, const Placement& placement, backend::Device& carrier,
                 std::function<void(Arrival)> deliver);

  const Placement& placement() const { return placement_; }
  int process() const { return processes_.rank(); }
  bool is_here(int worker) const { return placement_.process_of(worker) == process(); }

  /// sent: called when the memory of `data` may be used again, perhaps at once.
  void send(int from, int to, int tag, std::span<const std::byte> data, const Then& sent);

  /// Receives what was announced and not enclosed.
  void fetch(const Announcement& said, int process, std::span<std::byte> into, Then received);

  /// Lets transfers end and messages arrive. Returns whether any has. Throws PeerGone if a process is known to have died.
  bool poll();

  /// Collective, when the workers of this process have ended; returns when those of all have, and what was sent has arrived.
  /// Throws Failure after stall_s seconds in which nothing happened.
  void close(double stall_s);

 private:
  struct Transfer {
    comm::Request request;
    std::unique_ptr<std::byte[]> letter;
    Then then;
  };

  void await_letter();
  void post(int process, const Announcement& said, std::span<const std::byte> enclosed);
  bool take_letters();
  bool end_transfers();
  void look_for_deaths();

  comm::Communicator& processes_;
  Placement placement_;
  backend::Device& carrier_;
  std::function<void(Arrival)> deliver_;
  std::unique_ptr<std::byte[]> letter_;  // the next to arrive
  comm::Request next_letter_;
  std::list<Transfer> transfers_;
  std::vector<std::int32_t> payloads_;  // sent to each process so far
  double look_at_s_ = 0;                // for deaths
  int farewells_ = 0;                   // of processes whose workers have ended
};

}  // namespace paragrad::hosting
