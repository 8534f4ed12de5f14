#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "backend/device.hpp"
#include "backend/kernels/add.hpp"
#include "comm/membership.hpp"
#include "comm/operation.hpp"
#include "comm/segmentation.hpp"
#include "comm/traffic.hpp"
#include "comm/window.hpp"
#include "comm/wire.hpp"
#include "core/errors.hpp"

namespace paragrad::comm {

inline constexpr int any_source = -1;

/// The result of a finished receive.
struct Received {
  int source = any_source;
  std::size_t bytes = 0;
};

/// A transfer that was started and not yet waited for. Belongs to the communicator that made it; must be waited for exactly
/// once.
struct Request {
  std::uint64_t id = 0;
};

/// Throws ConfigError for a device whose memory cannot hold one-sided windows.
inline void expect_reachable_windows(const backend::Device& device) {
  if (!device.is_host())
    throw core::ConfigError("one-sided windows need host-accessible memory, which device '" + std::string(device.name()) +
                            "' does not have: choose the strategy's two-sided messages");
}

/// Whose routine: the transport's (MPI_Allreduce) or the device vendor's (NCCL).
enum class Library { transport, device };

class Communicator;

/// An operation that all workers run on arrays of the same length. Its messages depend only on (rank, size, length).
using Collective = std::function<void(Communicator&, std::span<float>)>;

/// What only the communicators of a simulator offer.
class SimulatedTime {
 public:
  /// The clock, for instruments: reading it has no effect, whereas an emulated worker is charged for polling now_s().
  virtual double observed_s() = 0;

  /// See Communicator::run_collective and skip_repeated.
  virtual void run_collective(Communicator& comm, const Collective& collective, std::span<float> data) {
    collective(comm, data);
  }
  virtual std::size_t skip_repeated(std::size_t /*turns*/) { return 0; }

  /// Does what a collective has left for later, before memory goes that it needs.
  virtual void finish_messages() {}

  /// A worker's report to an observer of the simulation. The others see it in posted() from when a message has reached them
  /// that was sent after it. Costs no simulated time.
  virtual void post(const TrafficReport&) {}
  virtual TrafficReport posted(int /*rank*/) const { return {}; }

  /// The platform's links; none if the workers do not fill its nodes in rank order.
  virtual std::optional<Surroundings> surroundings() const { return {}; }

 protected:
  ~SimulatedTime() = default;
};

/// Messages between workers: the only way in which strategies and collectives reach another worker. MPI ranks, workers
/// of one process and emulated workers share this interface, so an algorithm is written once.
///
/// Semantics are MPI's: messages with the same (source, tag) do not overtake each other; a send may block until the receive
/// is posted, so code must not rely on buffering; the memory of a request must not be touched until its wait.
/// Every function may throw Failure. Spans are device() memory or host memory.
class Communicator {
 public:
  virtual ~Communicator() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  virtual Request start_send(int to, int tag, std::span<const std::byte> data) = 0;
  /// `from` may be any_source. The message must not be longer than `data`.
  virtual Request start_receive(int from, int tag, std::span<std::byte> data) = 0;
  virtual Received wait(Request request) = 0;

  /// wait, but for at most `limit_s` seconds: real time under MPI, simulated time in the simulator. Returns nothing if the
  /// transfer is not finished by then; it continues, and its request must still be waited for. 0 polls, infinity waits.
  virtual std::optional<Received> wait_for(Request request, double limit_s) = 0;

  /// Seconds since the start of the run: wall-clock time under MPI, simulated time in the simulator.
  virtual double now_s() = 0;

  /// to += from, the arithmetic of a reduction. Costs time on this worker's device, which has finished on return; so does
  /// run_kernels.
  virtual void add(std::span<const float> from, std::span<float> to) { run(backend::Add{from, to}); }

  /// Runs a few kernels of a collective; they cost this worker time. See Worker::run_kernels.
  virtual void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) {
    kernels(device_);
    device_.finish();
  }

  template <class... Kernels>
  void run(const Kernels&... kernels) {
    run_kernels([&](backend::KernelQueue& queue) { (queue.run(kernels), ...); });
  }

  /// A library's routine, for speed or comparison; the library decides the order of additions. send, data: of all_to_all
  /// what a worker sends and receives; otherwise both are its array. Throws ConfigError if there is none, even for empty
  /// arrays.
  virtual void library_routine(Library library, Operation operation, std::span<const float> send, std::span<float> data) = 0;

  /// Exposes memory of every worker to all others; see window.hpp. Collective: all workers call it over the same channel,
  /// each with its own lengths. Throws ConfigError if the transport has no one-sided transfers.
  virtual std::unique_ptr<Window> open_window(std::size_t /*floats*/, std::size_t /*counters*/) {
    throw core::ConfigError("this transport has no one-sided windows: choose the strategy's two-sided messages");
  }

  void send(int to, int tag, std::span<const std::byte> data) { wait(start_send(to, tag, data)); }
  Received receive(int from, int tag, std::span<std::byte> data) { return wait(start_receive(from, tag, data)); }

  void send(int to, int tag, std::span<const float> data) { send(to, tag, std::as_bytes(data)); }
  Received receive(int from, int tag, std::span<float> data) { return receive(from, tag, std::as_writable_bytes(data)); }
  Request start_send(int to, int tag, std::span<const float> data) { return start_send(to, tag, std::as_bytes(data)); }
  Request start_receive(int from, int tag, std::span<float> data) {
    return start_receive(from, tag, std::as_writable_bytes(data));
  }

  /// Which workers are still there.
  Membership& membership() { return *membership_; }

  SimulatedTime* simulated_time() const { return simulated_time_; }  ///< null outside a simulator

  /// What this worker has sent and received so far over all its channels.
  Traffic traffic() const { return traffic_->reading(); }

  /// now_s() for instruments: reading it has no effect.
  double observed_s() { return simulated_time_ != nullptr ? simulated_time_->observed_s() : now_s(); }

  /// Runs a collective, which accesses arrays only through this communicator: by messages, add() and run_kernels(). The
  /// device must have finished what it does to them. A simulator may skip or defer its messages if neither results nor
  /// simulated times change. Every worker calls this for every collective, in the same order.
  void run_collective(const Collective& collective, std::span<float> data) {
    if (simulated_time_ != nullptr)
      simulated_time_->run_collective(*this, collective, data);
    else
      collective(*this, data);
  }

  /// Called before an iteration of a collective's loop when the next `turns` iterations repeat the last ones, on other
  /// memory only. Returns how many to skip: more than 0 only if this communicator records what a worker would send instead
  /// of communicating.
  std::size_t skip_repeated(std::size_t turns) {
    return simulated_time_ != nullptr ? simulated_time_->skip_repeated(turns) : 0;
  }

  /// How many workers share a node: they fill the nodes in rank order, the last node perhaps only partly. Node-aware
  /// collectives depend on it, so it is the same on all workers. 0: the workers do not fill the nodes in rank order.
  int workers_per_node() const { return workers_per_node_; }

  /// Overrides the number that the transport found. The order of additions of node-aware collectives depends on it.
  void set_workers_per_node(int workers) { workers_per_node_ = workers; }

  /// How reductions cut long arrays: the same on all workers.
  const Segmentation& segmentation() const { return segmentation_; }

  backend::Device& device() { return device_; }

  /// Device memory of `count` elements for the current collective, reused by the next one so that no allreduce pays for
  /// fresh pages. Its content is undefined; valid until the next call.
  std::span<float> scratch(std::size_t count) {
    if (scratch_->size() < count) {
      if (simulated_time_ != nullptr) simulated_time_->finish_messages();
      *scratch_ = device_.allocate(count);
    }
    return scratch_->span().first(count);
  }

 protected:
  Communicator(backend::Device& device, int rank, int size,
               std::shared_ptr<TrafficMeter> traffic = std::make_shared<TrafficMeter>())
      : device_(device), rank_(rank), size_(size), traffic_(std::move(traffic)) {}

  /// A wrapper of another communicator, which must outlive it.
  explicit Communicator(Communicator& inner)
      : device_(inner.device_),
        rank_(inner.rank_),
        size_(inner.size_),
        workers_per_node_(inner.workers_per_node_),
        segmentation_(inner.segmentation_),
        scratch_(inner.scratch_),
        membership_(inner.membership_),
        traffic_(inner.traffic_) {}
  Communicator(const Communicator&) = delete;

  void set_position(int rank, int size) { rank_ = rank, size_ = size; }
  void set_membership(Membership& membership) { membership_ = &membership; }
  void set_segmentation(const Segmentation& segmentation) { segmentation_ = segmentation; }
  void set_simulated_time(SimulatedTime& simulated_time) { simulated_time_ = &simulated_time; }

  /// Transports count what they send: one meter for all channels of a worker.
  const std::shared_ptr<TrafficMeter>& traffic_meter() const { return traffic_; }

 private:
  backend::Device& device_;
  int rank_;
  int size_;
  int workers_per_node_ = 1;
  Segmentation segmentation_;
  core::Arena own_scratch_;
  core::Arena* scratch_ = &own_scratch_;
  Membership nobody_is_gone_;
  Membership* membership_ = &nobody_is_gone_;
  std::shared_ptr<TrafficMeter> traffic_;
  SimulatedTime* simulated_time_ = nullptr;
};

}  // namespace paragrad::comm
