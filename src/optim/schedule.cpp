#include "optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

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
  bool goes_back() const override { return options_.restore; }
  bool observe(int, double loss) override {
    if (std::isnan(loss)) throw core::ConfigError("the schedule 'newbob' needs a validation set, and the data has none");
    const bool better = loss < best_;
    const bool progress = loss < best_ * (1 - options_.improvement);
    if (better) best_ = loss;
    if (!progress) rate_ *= options_.factor;
    return !better && options_.restore;
  }
  void describe_state(core::StateView& state) override {
    Schedule::describe_state(state);
    state.add("best", best_);
  }

 private:
  NewbobOptions options_;
  double best_ = std::numeric_limits<double>::infinity();
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

 private:
  std::vector<double> rates_;
};

struct ScheduleEntry {
  core::EntryInfo info;
  std::function<std::unique_ptr<Schedule>(double rate, const core::Settings&)> make;
};

template <class Type, class Options>
ScheduleEntry schedule_entry_of(core::EntryInfo info) {
  info.options = core::options_of<Options>();
  return {std::move(info), [](double rate, const core::Settings& settings) {
            return std::make_unique<Type>(rate, core::read_options<Options>(settings));
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
  return entry.make(options.initial_rate, options.settings);
}

core::CatalogueInfo schedule_catalogue() { return core::info_of("schedule", "schedules", schedules()); }

}  // namespace paragrad::optim
