#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/worker.hpp"
#include "core/json_fwd.hpp"
#include "core/state_view.hpp"

namespace paragrad::train {

/// Traffic of a training, summarised over the workers.
struct TrafficSummary {
  double messages = 0;         ///< sent by a worker on average
  double sent_bytes = 0;       ///< likewise
  double received_bytes = 0;   ///< likewise
  double most_sent_bytes = 0;  ///< by the worker that sends most
  bool is_known = true;        ///< false: a library's collectives took part, whose messages cannot be counted

  /// Adds its members to a record; null if they are unknown.
  void add_to(core::Json& record) const;
};

/// Counts what this worker sends and receives to train: between the first and the last minibatch of each epoch, and to
/// complete the model that is scored. Scores, checkpoints, broadcasts of the model and trials of other minibatch sizes do
/// not count.
class TrafficAccount {
 public:
  explicit TrafficAccount(comm::Worker& worker) : worker_(worker) {}

  /// Counts from resume() to pause(). Call pause() only when no task is under way.
  void resume();
  void pause();

  /// Pauses during an action.
  template <class Action>
  void without(const Action& action) {
    const bool was_counting = counting_;
    if (was_counting) pause();
    action();
    if (was_counting) resume();
  }

  /// Posts a report to the simulation, if there is one. Call it before a sum over all workers, and summarise() after it.
  void post();

  struct Summary {
    TrafficSummary recent;  ///< since the last summary
    TrafficSummary total;
  };
  /// On worker 0, which records it; the others get an empty summary, so that emulating N workers does not cost N * N.
  /// sum: adds values of all workers up; false: a worker was lost meanwhile, try again. Called outside a simulator only.
  Summary summarise(const std::function<bool(std::span<double>)>& sum);

  void describe_state(core::StateView& state);

 private:
  comm::Worker& worker_;
  bool counting_ = false;
  comm::Traffic before_;  // when counting began
  comm::TrafficReport report_;
};

}  // namespace paragrad::train
