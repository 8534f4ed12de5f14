#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "strategies/parameter_server/order.hpp"
#include "strategies/parameter_server/policy.hpp"
#include "strategies/parameter_server/statistics.hpp"

namespace paragrad::strategies {

/// What a server does for the workers, whoever brings it their requests: keeps a shard, gives out splits, knows who has come
/// to the end of the epoch, and takes down in which order it did all this.
class Server {
 public:
  /// given: the order to be kept; null: as requests come.
  Server(int workers, std::unique_ptr<Policy> policy, const optim::OptimiserOptions& rule, const std::vector<Event>* given)
      : policy_(std::move(policy)), rule_(rule), order_(given), progress_(static_cast<std::size_t>(workers)) {}

  /// From the next start on the shard's parameters lie there. As long as they, or nothing: in memory of its own.
  void keep_parameters_in(std::span<float> memory) { memory_ = memory; }

  /// A new shard, whose parameters are still to be filled in; the epoch begins.
  void start(backend::Device& device, std::vector<core::Matrix> layout, std::size_t parameters);
  Shard& shard() { return *shard_; }

  // Whether it is a worker's turn; and what is to be done then.
  bool may_push(int worker) const { return order_.admits(Event::Kind::push, worker); }
  bool may_fetch(int worker, std::uint64_t version) const;
  bool may_take(int worker) const { return order_.admits(Event::Kind::take, worker); }
  bool may_meet(int worker) const { return order_.admits(Event::Kind::meet, worker); }

  void push(comm::Communicator& comm, const Push& push);  ///< the gradient is in place
  std::uint64_t fetch(int worker);                        ///< version of what may now be read
  std::uint64_t take(int worker, std::uint64_t done);     ///< number of the split

  /// True: all have come, and an epoch begins.
  bool meet(comm::Communicator& comm, int worker);

  /// Goes on without it. Returns whether all others have met.
  bool lose(comm::Communicator& comm, int worker);
  bool lost(int worker) const { return progress(worker).lost; }
  bool met(int worker) const { return progress(worker).met; }
  std::vector<std::int32_t> all_lost() const;
  int workers() const { return static_cast<int>(progress_.size()); }

  std::uint64_t done() const { return order_.size(); }
  bool keeps_order() const { return order_.prescribed(); }
  const Statistics& statistics() const { return statistics_; }

  /// What the worker fetched without the server's doing.
  void add(const std::vector<UnseenFetch>& fetches) { unseen_.insert(unseen_.end(), fetches.begin(), fetches.end()); }

  /// All that was done, such fetches among it where they were.
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
