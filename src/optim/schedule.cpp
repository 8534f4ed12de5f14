#include "optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <type_traits>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::optim {
namespace {

class Constant : public Schedule {
 public:
  Constant(double rate, const core::NoOptions&) : Schedule(rate) {}
  bool observe(int, double) override { return false; }
};

constexpr const char* rate_group = "Learning rate";

struct FactorOptions {
  double factor = 0.5;

  void describe(core::OptionList& list) {
    list.group(rate_group);
    list.number("schedule-factor", factor, {.least = 0, .most = 1, .without_least = true},
                "factor by which the learning rate is multiplied");
  }
};

class Exponential : public Schedule {
 public:
  Exponential(double rate, const FactorOptions& options) : Schedule(rate), factor_(options.factor) {}
  bool observe(int, double) override {
    rate_ *= factor_;
    return false;
  }

 private:
  double factor_;
};

struct StepOptions : FactorOptions {
  int every = 1;

  void describe(core::OptionList& list) {
    FactorOptions::describe(list);
    list.number("schedule-every", every, {.least = 1, .most = 1000000}, "epochs between two changes of the learning rate");
  }
};

class StepDown : public Schedule {
 public:
  StepDown(double rate, const StepOptions& options) : Schedule(rate), options_(options) {}
  bool observe(int epoch, double) override {
    if (epoch % options_.every == 0) rate_ *= options_.factor;
    return false;
  }

 private:
  StepOptions options_;
};

struct NewbobOptions : FactorOptions {
  double improvement = 0.005;  // smallest relative decrease of the validation loss that counts as progress
  bool restore = false;        // continue from the best model when progress stalls

  void describe(core::OptionList& list) {
    FactorOptions::describe(list);
    list.number("newbob-improvement", improvement, core::zero_or_more,
                "smallest relative decrease of the validation loss that counts as progress");
    list.flag("newbob-restore", restore, "return to the best model when progress stops");
  }
};

class Newbob : public Schedule {
 public:
  Newbob(double rate, const NewbobOptions& options) : Schedule(rate), options_(options) {}
  bool needs_validation() const override { return true; }
  bool goes_back() const override { return options_.restore; }
  bool observe(int, double loss) override {
    const bool better = loss < best_;
    const bool progress = loss < best_ * (1 - options_.improvement);
    if (better) best_ = loss;
    if (!progress) rate_ *= options_.factor;
    return !better && options_.restore;
  }
  void describe_state(core::StateView& state) override {
    Schedule::describe_state(state);
    state.add("best", best_, core::Rescale::equal);
  }

 private:
  NewbobOptions options_;
  double best_ = std::numeric_limits<double>::infinity();
};

struct MultiStepOptions : FactorOptions {
  std::vector<double> milestones;

  void describe(core::OptionList& list) {
    FactorOptions::describe(list);
    list.numbers("schedule-milestones", milestones, core::above_zero,
                 "epochs after which the learning rate is multiplied by the factor, separated by commas");
  }
};

class MultiStep : public Schedule {
 public:
  MultiStep(double rate, const MultiStepOptions& options) : Schedule(rate), options_(options) {
    if (options_.milestones.empty()) throw core::ConfigError("the schedule 'multi_step' needs milestones, such as 30,60,80");
    for (std::size_t i = 0; i < options_.milestones.size(); ++i)
      if (options_.milestones[i] != std::floor(options_.milestones[i]) ||
          (i > 0 && options_.milestones[i] <= options_.milestones[i - 1]))
        throw core::ConfigError("the milestones of the schedule 'multi_step' must be whole numbers that rise");
  }
  bool observe(int epoch, double) override {
    if (std::ranges::find(options_.milestones, epoch) != options_.milestones.end()) rate_ *= options_.factor;
    return false;
  }

 private:
  MultiStepOptions options_;
};

struct FinalOptions {
  double final_rate = 0;

  void describe(core::OptionList& list) {
    list.group(rate_group);
    list.number("schedule-final", final_rate, core::zero_or_more, "learning rate at the end of the training");
  }
};

/// Falls to a final rate at the end of the training.
class Falling : public Schedule {
 public:
  Falling(double rate, const FinalOptions& options, int epochs)
      : Schedule(rate), final_(options.final_rate), epochs_(epochs) {}
  double rate(double fraction) const override {
    return final_ + (rate_ - final_) * left_after(std::min(1.0, (passed_ + fraction) / std::max(1, epochs_)));
  }
  bool observe(int epoch, double) override {
    passed_ = epoch;
    return false;
  }
  void describe_state(core::StateView& state) override {
    Schedule::describe_state(state);
    state.add("passed", passed_, core::Rescale::equal);
  }

 private:
  /// What is left of the difference to the final rate, after this share of the training.
  virtual double left_after(double done) const = 0;

  double final_;
  int epochs_;
  double passed_ = 0;  // epochs
};

class Cosine : public Falling {
 public:
  using Falling::Falling;

 private:
  double left_after(double done) const override { return (1 + std::cos(std::numbers::pi * done)) / 2; }
};

struct DecayOptions : FinalOptions {
  double share = 0.2;  // of the training

  void describe(core::OptionList& list) {
    FinalOptions::describe(list);
    list.number("schedule-decay", share, {.least = 0, .most = 1, .without_least = true},
                "share of the training, at its end, in which the rate falls");
  }
};

class WarmUpStableDecay : public Falling {
 public:
  WarmUpStableDecay(double rate, const DecayOptions& options, int epochs)
      : Falling(rate, options, epochs), share_(options.share) {}

 private:
  double left_after(double done) const override { return std::min(1.0, (1 - done) / share_); }

  double share_;
};

/// Another schedule, whose rate is reached only after some epochs.
class WarmUp : public Schedule {
 public:
  WarmUp(std::unique_ptr<Schedule> schedule, double from, double epochs, bool in_minibatches)
      : Schedule(from), schedule_(std::move(schedule)), epochs_(epochs), in_minibatches_(in_minibatches) {}
  double rate(double fraction) const override {
    const double target = schedule_->rate(fraction), done = (passed_ + fraction) / epochs_;
    return done >= 1 ? target : rate_ + (target - rate_) * done;
  }
  bool needs_validation() const override { return schedule_->needs_validation(); }
  bool goes_back() const override { return schedule_->goes_back(); }
  bool observe(int epoch, double loss) override {
    passed_ = epoch;
    return schedule_->observe(epoch, loss);
  }
  void scale(double factor) override { schedule_->scale(factor); }
  void describe_state(core::StateView& state) override {
    schedule_->describe_state(state);
    state.add("warm_up_passed", passed_, core::Rescale::equal);
    if (in_minibatches_) state.add("warm_up_epochs", epochs_, core::Rescale::equal);  // of other workers, they were others
  }

 private:
  std::unique_ptr<Schedule> schedule_;
  double epochs_, passed_ = 0;
  bool in_minibatches_;
};

struct TableOptions {
  std::vector<double> rates;  // of epoch 1, 2, …; the last one applies to all later epochs

  void describe(core::OptionList& list) {
    list.group(rate_group);
    list.numbers("schedule-rates", rates, core::above_zero,
                 "learning rates, one per epoch, separated by commas; the first must equal the learning rate");
  }
};

class Table : public Schedule {
 public:
  Table(double rate, const TableOptions& options) : Schedule(rate), rates_(options.rates) {
    if (rates_.empty()) throw core::ConfigError("the schedule 'table' needs a list of rates, one per epoch");
    if (rates_.front() != rate)
      throw core::ConfigError(core::format(
          "the schedule 'table' begins with {}, but the learning rate is {}: make them equal", rates_.front(), rate));
  }
  bool observe(int epoch, double) override {
    rate_ = rates_[std::min(static_cast<std::size_t>(epoch), rates_.size() - 1)];
    return false;
  }
  void scale(double) override {}

 private:
  std::vector<double> rates_;
};

struct ScheduleEntry {
  core::EntryInfo info;
  std::function<std::unique_ptr<Schedule>(const ScheduleOptions&)> make;
};

template <class Type, class Options>
ScheduleEntry schedule_entry_of(core::EntryInfo info) {
  info.options = core::options_of<Options>();
  return {std::move(info), [](const ScheduleOptions& from) {
            const auto options = core::read_options<Options>(from.settings);
            if constexpr (std::is_constructible_v<Type, double, Options, int>)
              return std::make_unique<Type>(from.initial_rate, options, from.epochs);
            else
              return std::make_unique<Type>(from.initial_rate, options);
          }};
}

const std::vector<ScheduleEntry>& schedules() {
  static const std::vector<ScheduleEntry> entries{
#define SCHEDULE(name, Type, Options, summary, source) schedule_entry_of<Type, Options>({#name, "", "", summary, source}),
#include "optim/schedules.def"
#undef SCHEDULE
  };
  return entries;
}

}  // namespace

std::unique_ptr<Schedule> make_schedule(const ScheduleOptions& options) {
  if (!(options.initial_rate > 0) || !std::isfinite(options.initial_rate))
    throw core::ConfigError(core::format("the learning rate {} must be above 0", options.initial_rate));
  const ScheduleEntry& entry = core::find_entry("schedule", options.name, schedules());
  core::check_settings(entry.info, "schedule", options.settings);
  auto schedule = entry.make(options);
  const double epochs = options.warm_up_minibatches > 0
                            ? static_cast<double>(options.warm_up_minibatches) / options.minibatches
                            : options.warm_up_epochs;
  return epochs > 0
             ? std::make_unique<WarmUp>(std::move(schedule), options.warm_up_from, epochs, options.warm_up_minibatches > 0)
             : std::move(schedule);
}

core::CatalogueInfo schedule_catalogue() { return core::info_of("schedule", "schedules", schedules()); }

}  // namespace paragrad::optim
