#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/worker.hpp"
#include "core/json.hpp"
#include "core/state_view.hpp"

namespace paragrad::train {

/// Traffic of the strategy, summarised over the workers.
struct TrafficSummary {
  double messages = 0;         ///< sent by a worker on average
  double sent_bytes = 0;       ///< likewise
  double received_bytes = 0;   ///< likewise
  double most_sent_bytes = 0;  ///< by the worker that sends most
  bool is_known = true;        ///< false: a library's collectives took part, whose messages cannot be counted

  /// Adds its members to a record; null if they are unknown.
  void add_to(core::Json& record) const;
};

/// Counts what this worker's strategy sends and receives: everything between the first and the last minibatch of each epoch,
/// and what it needs to complete the epoch's model. Scores, checkpoints, broadcasts of the initial model and trials of other
/// minibatch sizes do not count.
class TrafficAccount {
 public:
  explicit TrafficAccount(comm::Worker& worker) : worker_(worker) {}

  void begin_epoch() { report_.epoch = {}; }

  /// Runs an action of the strategy, and adds its traffic to the epoch's.
  template <class Action>
  decltype(auto) count(const Action& action) {
    const Scope scope(*this);
    return action();
  }

  void end_epoch() { report_.total += report_.epoch; }

  /// Posts the report to the simulation, if there is one. Call it before a sum over all workers, and summarise() after it.
  void post();

  struct Summary {
    TrafficSummary epoch, total;
  };
  /// sum: adds values of all workers up; false: a worker was lost meanwhile, try again. Outside a simulator it is called.
  Summary summarise(const std::function<bool(std::span<double>)>& sum);

  void describe_state(core::StateView& state);

 private:
  class Scope {
   public:
    explicit Scope(TrafficAccount& account) : account_(account), before_(account.worker_.comm().traffic()) {}
    ~Scope() {
      comm::Traffic passed = account_.worker_.comm().traffic();
      passed -= before_;
      account_.report_.epoch += passed;
    }

   private:
    TrafficAccount& account_;
    comm::Traffic before_;
  };

  comm::Worker& worker_;
  comm::TrafficReport report_;
};

}  // namespace paragrad::train
