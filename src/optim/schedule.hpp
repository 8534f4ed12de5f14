#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "core/state_view.hpp"

namespace paragrad::optim {

struct ScheduleOptions {
  std::string name = "constant";  ///< of optim/schedules.def
  double initial_rate = 0;
  core::Settings settings{};            ///< the schedule's own options
  int epochs = 0;                       ///< of the whole training, for schedules that end with it
  double warm_up_epochs = 0;            ///< at first the rate grows linearly from warm_up_from to the schedule's; 0: not
  std::size_t warm_up_minibatches = 0;  ///< the same in minibatches of a worker; at most one of the two is above 0
  double minibatches = 0;               ///< of an epoch; needed for warm_up_minibatches alone
  double warm_up_from = 0;
};

/// Learning rate over epochs and, for some schedules, within them. From optim/schedules.def; all workers hold equal copies
/// and see equal validation losses.
class Schedule {
 public:
  explicit Schedule(double rate) : rate_(rate) {}
  virtual ~Schedule() = default;

  /// After this part of the current epoch, from 0 to below 1.
  virtual double rate(double /*fraction*/) const { return rate_; }
  double rate() const { return rate(0); }

  /// Whether observe() needs a validation loss.
  virtual bool needs_validation() const { return false; }

  /// Whether observe() may return true.
  virtual bool goes_back() const { return false; }

  /// Call after each epoch (counted from 1) with the validation loss per sample, NaN without a validation set.
  /// Returns true if training must go back to the best model so far.
  virtual bool observe(int epoch, double validation_loss) = 0;

  /// Multiplies the rates from now on; those of a table stay as listed.
  virtual void scale(double factor) { rate_ *= factor; }

  /// Adds the state kept between epochs.
  virtual void describe_state(core::StateView& state) { state.add("rate", rate_, core::Rescale::equal); }

 protected:
  double rate_;
};

/// Throws ConfigError for an unknown name, a learning rate not above 0, a setting that the schedule does not have or a value
/// out of range, milestones that do not rise, or a table of rates that is empty or does not begin with the learning rate.
/// Warm-up: Goyal et al., arXiv 1706.02677, 2017, who begin with the rate of a single worker.
std::unique_ptr<Schedule> make_schedule(const ScheduleOptions& options);

core::CatalogueInfo schedule_catalogue();

}  // namespace paragrad::optim
