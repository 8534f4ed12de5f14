#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "strategies/parameter_server/order.hpp"
#include "strategies/parameter_server/policy.hpp"
#include "strategies/parameter_server/statistics.hpp"

namespace paragrad::strategies {

/// A server's logic, independent of how requests arrive: holds a shard, gives out splits, tracks which workers have reached
/// the end of the epoch, and records the order of its actions.
class Server {
 public:
  /// given: the order to replay; null: requests are served as they arrive. records: for events().
  Server(int workers, std::unique_ptr<Policy> policy, const optim::OptimiserOptions& rule, const std::vector<Event>* given,
         bool records = true)
      : policy_(std::move(policy)), rule_(rule), order_(given, records), progress_(static_cast<std::size_t>(workers)) {}

  /// From the next start on, keeps the shard's parameters in `memory`, which has their length; empty: in its own memory.
  void keep_parameters_in(std::span<float> memory) { memory_ = memory; }

  /// Creates a new shard, whose parameters the caller fills in; an epoch begins.
  void start(backend::Device& device, std::vector<core::Matrix> layout, std::size_t parameters);
  Shard& shard() { return *shard_; }

  // may_…: whether it is the worker's turn; the others: the action itself.
  bool may_push(int worker) const { return order_.admits(Event::Kind::push, worker); }
  bool may_fetch(int worker, std::uint64_t version) const;
  bool may_take(int worker) const { return order_.admits(Event::Kind::take, worker); }
  bool may_meet(int worker) const { return order_.admits(Event::Kind::meet, worker); }

  void push(comm::Communicator& comm, const Push& push);  ///< the gradient is in place
  std::uint64_t fetch(int worker);                        ///< returns the version that may now be read
  std::uint64_t take(int worker, std::uint64_t done);     ///< returns the number of the split

  /// True: all workers have met, and an epoch begins.
  bool meet(comm::Communicator& comm, int worker);

  /// Drops the worker. Returns whether all others have met.
  bool lose(comm::Communicator& comm, int worker);
  bool lost(int worker) const { return progress(worker).lost; }
  std::vector<std::int32_t> all_lost() const;
  int workers() const { return static_cast<int>(progress_.size()); }

  /// See Policy. In a prescribed order time does not matter.
  double deadline_s() const { return order_.prescribed() ? std::numeric_limits<double>::infinity() : policy_->deadline_s(); }
  void close() { policy_->close(); }

  std::uint64_t done() const { return order_.size(); }
  bool keeps_order() const { return order_.prescribed(); }
  const Statistics& statistics() const { return statistics_; }

  /// Adds a worker's fetches that the server did not see.
  void add(const std::vector<UnseenFetch>& fetches) { unseen_.insert(unseen_.end(), fetches.begin(), fetches.end()); }

  /// All events, with such fetches at their positions.
  std::vector<Event> events() const;

 private:
  struct WorkerProgress {
    bool met = false;
    bool lost = false;
    std::uint64_t taken = 0;  // splits, in the epoch
    std::uint64_t done = 0;
  };
  WorkerProgress& progress(int worker) { return progress_[static_cast<std::size_t>(worker)]; }
  const WorkerProgress& progress(int worker) const { return progress_[static_cast<std::size_t>(worker)]; }
  bool all_met();
  void begin_epoch();

  std::unique_ptr<Policy> policy_;
  optim::OptimiserOptions rule_;
  Order order_;
  std::span<float> memory_;
  std::unique_ptr<Shard> shard_;
  std::vector<UnseenFetch> unseen_;
  std::vector<WorkerProgress> progress_;
  std::uint64_t next_split_ = 0;
  Statistics statistics_;
};

}  // namespace paragrad::strategies
