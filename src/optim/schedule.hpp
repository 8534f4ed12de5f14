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
  double factor = 0.5;                ///< exponential: per epoch; step: every `every` epochs; newbob: when progress stalls
  int every = 1;                      ///< step only
  double newbob_improvement = 0.005;  ///< newbob: smallest relative decrease of the validation loss that counts as progress
  bool newbob_restore = false;        ///< newbob: continue from the best model when progress stalls
  std::vector<double> rates{};        ///< table: rates of epoch 1, 2, …; the last one applies to all later epochs
};

/// Learning rate over epochs. From optim/schedules.def; all workers hold equal copies and see equal validation losses.
class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options) : options_(options), rate_(options.initial_rate) {}
  virtual ~Schedule() = default;

  double rate() const { return rate_; }

  /// Call after each epoch (counted from 1) with the validation loss per sample, NaN without a validation set.
  /// Returns true if training must go back to the best model so far.
  virtual bool observe(int epoch, double validation_loss) = 0;

  /// Adds the state kept between epochs.
  virtual void describe_state(core::StateView& state) { state.add("rate", rate_); }

 protected:
  ScheduleOptions options_;
  double rate_;
};

/// Throws ConfigError for an unknown name, a learning rate not above 0, a factor outside (0, 1], every < 1, or a table of
/// rates that is empty, contains a rate not above 0 or does not begin with the learning rate.
std::unique_ptr<Schedule> make_schedule(const ScheduleOptions& options);

struct ScheduleEntry {
  std::string name;
  std::string options;  ///< names of the options specific to this schedule, separated by spaces
  std::string description;
};
std::vector<ScheduleEntry> schedule_catalogue();
std::vector<std::string> schedule_names();

}  // namespace paragrad::optim
