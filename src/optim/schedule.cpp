#include "optim/schedule.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::optim {
namespace {

class Constant : public Schedule {
 public:
  using Schedule::Schedule;
  bool observe(int, double) override { return false; }
};

class Exponential : public Schedule {
 public:
  using Schedule::Schedule;
  bool observe(int, double) override {
    rate_ *= options_.factor;
    return false;
  }
};

class StepDown : public Schedule {
 public:
  using Schedule::Schedule;
  bool observe(int epoch, double) override {
    if (epoch % options_.every == 0) rate_ *= options_.factor;
    return false;
  }
};

class Newbob : public Schedule {
 public:
  using Schedule::Schedule;
  bool observe(int, double loss) override {
    if (std::isnan(loss)) throw core::ConfigError("the schedule 'newbob' needs a validation set, and the data has none");
    const bool better = loss < best_;
    const bool progress = loss < best_ * (1 - options_.newbob_improvement);
    if (better) best_ = loss;
    if (!progress) rate_ *= options_.factor;
    return !better && options_.newbob_restore;
  }
  void describe_state(core::StateView& state) override {
    Schedule::describe_state(state);
    state.add("best", best_);
  }

 private:
  double best_ = std::numeric_limits<double>::infinity();
};

class Table : public Schedule {
 public:
  using Schedule::Schedule;
  bool observe(int epoch, double) override {
    rate_ = options_.rates[std::min(static_cast<std::size_t>(epoch), options_.rates.size() - 1)];
    return false;
  }
};

void check_table(const ScheduleOptions& options) {
  if (options.rates.empty()) throw core::ConfigError("the schedule 'table' needs a list of rates, one per epoch");
  for (const double rate : options.rates)
    if (!(rate > 0) || !std::isfinite(rate))
      throw core::ConfigError(core::format("the schedule's rate {} must be above 0", rate));
  if (options.rates.front() != options.initial_rate)
    throw core::ConfigError(core::format("the schedule 'table' begins with {}, but the learning rate is {}: make them equal",
                                         options.rates.front(), options.initial_rate));
}

}  // namespace

std::unique_ptr<Schedule> make_schedule(const ScheduleOptions& options) {
  if (!(options.initial_rate > 0) || !std::isfinite(options.initial_rate))
    throw core::ConfigError(core::format("the learning rate {} must be above 0", options.initial_rate));
  if (!(options.factor > 0 && options.factor <= 1))
    throw core::ConfigError(core::format("the schedule's factor {} is outside (0, 1]", options.factor));
  if (options.every < 1) throw core::ConfigError("the schedule's period must be at least one epoch");
  if (options.name == "table") check_table(options);
#define SCHEDULE(known, Type, options_used, description) \
  if (options.name == #known) return std::make_unique<Type>(options);
#include "optim/schedules.def"
#undef SCHEDULE
  throw core::unknown_name("schedule", options.name, schedule_names());
}

std::vector<ScheduleEntry> schedule_catalogue() {
  return {
#define SCHEDULE(name, Type, options, description) {#name, options, description},
#include "optim/schedules.def"
#undef SCHEDULE
  };
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleEntry& entry : schedule_catalogue()) names.push_back(entry.name);
  return names;
}

}  // namespace paragrad::optim
