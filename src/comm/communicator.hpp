#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "backend/kernels.hpp"
#include "comm/window.hpp"
#include "core/errors.hpp"

namespace paragrad::comm {

inline constexpr int any_source = -1;

/// A peer is gone or the transport broke. Not the user's fault, and nothing to retry.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A peer's process has ended before its time.
class PeerGone : public Failure {
 public:
  PeerGone(int peer, const std::string& text) : Failure(text), peer_(peer) {}
  int peer() const { return peer_; }

 private:
  int peer_;
};

/// What a finished receive brought.
struct Received {
  int source = any_source;
  std::size_t bytes = 0;
};

/// A transfer that was started and not yet waited for. Belongs to the communicator that made it; wait for each exactly once.
struct Request {
  std::uint64_t id = 0;
};

/// Throws ConfigError, for a device whose memory one-sided windows cannot be in.
inline void expect_reachable_windows(const backend::Device& device) {
  if (!device.is_host())
    throw core::ConfigError("one-sided windows need host-accessible memory, which device '" + std::string(device.name()) +
                            "' does not have: choose the strategy's two-sided messages");
}

/// Whose allreduce: the transport's (MPI_Allreduce), or that of the device's maker (NCCL).
enum class Library { transport, device };

class Communicator;

/// What all workers do with an array of one length each. What they send depends on (rank, size, length) alone.
using Collective = std::function<void(Communicator&, std::span<float>)>;

/// Messages between workers: the only way in which strategies and collectives reach another worker. MPI ranks and emulated
/// workers offer the same, so an algorithm is written once.
///
/// Semantics are MPI's: messages of one (source, tag) do not overtake each other; a send may block until the receive is
/// posted, so code must not rely on buffering; the memory of a request stays untouched until its wait.
/// Every function may throw Failure. Spans are memory of device(), or of the host.
class Communicator {
 public:
  explicit Communicator(backend::Device& device) : device_(device) {}
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual Request start_send(int to, int tag, std::span<const std::byte> data) = 0;
  /// `from` may be any_source. The message must not be longer than `data`.
  virtual Request start_receive(int from, int tag, std::span<std::byte> data) = 0;
  virtual Received wait(Request request) = 0;

  /// wait, but for `limit_s` seconds at most: of real time under MPI, of simulated time in the simulator. What has arrived
  /// by then counts. Nothing: the transfer goes on, and its request is still to be waited for. 0 asks, infinity waits.
  virtual std::optional<Received> wait_for(Request request, double limit_s) = 0;

  /// Whether a worker is known to have ended before its time. Under MPI that is seen of processes of the same node alone,
  /// and wait() for one throws PeerGone within a second, as does start_send to one that is known to have; MPI itself says
  /// nothing and waits for ever. In the simulator it is known at once, and wait() for one ends in a deadlock. So who wants
  /// to outlive peers uses wait_for, which just comes back with nothing, and asks.
  virtual bool is_gone(int /*peer*/) { return false; }

  /// For what nobody can see: takes a worker for gone that has not answered for too long.
  virtual void take_for_gone(int /*peer*/) {}

  /// Seconds since the start of the run: wall-clock time under MPI, simulated time in the simulator.
  virtual double now_s() = 0;

  /// The same for instruments: reading it has no effect, whereas an emulated worker that reads now_s() for ever pays for it.
  virtual double observed_s() { return now_s(); }

  /// to += from, the arithmetic of a reduction. Costs time on this worker's device, which has finished on return; below too.
  virtual void add(std::span<const float> from, std::span<float> to) = 0;

  /// Runs a few kernels of a collective, and nothing else, on the device it hands over; they cost this worker time. See
  /// Worker::run_kernels.
  virtual void run_kernels(const std::function<void(backend::Device&)>& kernels) {
    kernels(device_);
    device_.finish();
  }

  /// How many workers share a node: they fill the nodes in rank order, the last one perhaps not whole. Collectives that
  /// treat the inside of a node apart go by it, so all workers see the same number. 0: the workers do not lie in that order.
  int workers_per_node() const { return workers_per_node_; }

  /// Another number than the transport found: the order of additions of such a collective depends on it.
  void set_workers_per_node(int workers) { workers_per_node_ = workers; }

  /// The sum over all workers by a routine of somebody else's, for speed or comparison; its order of additions is the
  /// library's. Throws ConfigError where there is none.
  virtual void library_allreduce(Library library, std::span<float> data) = 0;

  /// Opens memory of every worker to all others; see window.hpp. Collective: all workers call it over the same channel, with
  /// lengths of their own. Throws ConfigError where the transport has no one-sided transfers.
  virtual std::unique_ptr<Window> open_window(std::size_t /*floats*/, std::size_t /*counters*/) {
    throw core::ConfigError("this transport has no one-sided windows: choose the strategy's two-sided messages");
  }

  /// Whether the transport knows what a collective leads to without being told message by message; then it is done. Asked
  /// by every worker for every one, in the same order. A simulator without payload may know.
  virtual bool shortcut(const Collective&, std::span<float> /*data*/) { return false; }

  /// Asked before a turn of a collective's loop, where the next `turns` turns do what the last ones did, with other memory
  /// alone: how many of them to leave out. More than 0 only from who does not communicate but writes down what a worker
  /// would do.
  virtual std::size_t leave_out(std::size_t /*turns*/) { return 0; }

  void send(int to, int tag, std::span<const std::byte> data) { wait(start_send(to, tag, data)); }
  Received receive(int from, int tag, std::span<std::byte> data) { return wait(start_receive(from, tag, data)); }

  void send(int to, int tag, std::span<const float> data) { send(to, tag, std::as_bytes(data)); }
  Received receive(int from, int tag, std::span<float> data) { return receive(from, tag, std::as_writable_bytes(data)); }
  Request start_send(int to, int tag, std::span<const float> data) { return start_send(to, tag, std::as_bytes(data)); }
  Request start_receive(int from, int tag, std::span<float> data) {
    return start_receive(from, tag, std::as_writable_bytes(data));
  }

  backend::Device& device() { return device_; }

  /// Device memory of `count` elements for the collective that runs right now: kept for the next one, so that no allreduce
  /// pays for fresh pages. Its content is undefined, and the next call takes it back.
  virtual std::span<float> scratch(std::size_t count) {
    if (scratch_.size() < count) scratch_ = device_.allocate(count);
    return scratch_.span().first(count);
  }

 private:
  backend::Device& device_;
  core::Arena scratch_;
  int workers_per_node_ = 1;
};

}  // namespace paragrad::comm
