#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/state_view.hpp"

namespace paragrad::optim {

struct ScheduleOptions {
  std::string name = "constant";
  double initial_rate = 0;
  double factor = 0.5;                ///< exponential: per epoch; step: every `every` epochs; newbob: when progress stops
  int every = 1;                      ///< step only
  double newbob_improvement = 0.005;  ///< newbob: smallest relative fall of the validation loss that counts as progress
  bool newbob_restore = false;        ///< newbob: go on from the best model when progress stops
  std::vector<double> rates{};        ///< table: of epoch 1, 2, …; the last one holds for the rest
};

/// Learning rate over epochs. From optim/schedules.def; all workers hold equal copies and see equal validation losses.
class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options) : options_(options), rate_(options.initial_rate) {}
  virtual ~Schedule() = default;

  double rate() const { return rate_; }

  /// Call after each epoch (counted from 1) with the validation loss per sample, NaN if there is no validation set.
  /// True: go back to the best model so far.
  virtual bool observe(int epoch, double validation_loss) = 0;

  /// What it remembers from epoch to epoch.
  virtual void describe_state(core::StateView& state) { state.add("rate", rate_); }

 protected:
  ScheduleOptions options_;
  double rate_;
};

/// Throws ConfigError: unknown name, learning rate not above 0, factor outside (0, 1], every < 1; a table of rates that is
/// empty, has one not above 0, or begins with another than the learning rate.
std::unique_ptr<Schedule> make_schedule(const ScheduleOptions& options);

struct ScheduleEntry {
  std::string name;
  std::string options;  ///< names of those that it uses and not every schedule does, separated by spaces
  std::string description;
};
std::vector<ScheduleEntry> schedule_catalogue();
std::vector<std::string> schedule_names();

}  // namespace paragrad::optim
