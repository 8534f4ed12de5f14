#include "optim/schedule.hpp"

#include <cmath>
#include <numbers>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

using namespace paragrad;
using namespace paragrad::optim;

namespace {

constexpr double no_loss = std::numeric_limits<double>::quiet_NaN();

struct History {
  std::vector<double> rates;  // after each epoch
  std::vector<bool> restored;
};

History observe(const ScheduleOptions& options, const std::vector<double>& losses) {
  const auto schedule = make_schedule(options);
  CHECK(schedule->rate() == options.initial_rate);
  History history;
  for (std::size_t epoch = 0; epoch < losses.size(); ++epoch) {
    history.restored.push_back(schedule->observe(static_cast<int>(epoch) + 1, losses[epoch]));
    history.rates.push_back(schedule->rate());
  }
  return history;
}

}  // namespace

TEST_CASE("a constant rate stays, whatever the loss", "[optim]") {
  CHECK(observe({.name = "constant", .initial_rate = 0.3}, {1, 2, no_loss}).rates == std::vector<double>{0.3, 0.3, 0.3});
}

TEST_CASE("an exponential rate falls by the factor with every epoch", "[optim]") {
  const auto history = observe({.name = "exponential", .initial_rate = 8, .settings = {{"schedule-factor", 0.5}}},
                               {no_loss, no_loss, no_loss});
  CHECK(history.rates == std::vector<double>{4, 2, 1});
  CHECK(history.restored == std::vector<bool>{false, false, false});
}

TEST_CASE("a step rate falls every k epochs", "[optim]") {
  CHECK(observe({.name = "step", .initial_rate = 8, .settings = {{"schedule-factor", 0.25}, {"schedule-every", 2}}},
                {no_loss, no_loss, no_loss, no_loss, no_loss})
            .rates == std::vector<double>{8, 2, 2, 0.5, 0.5});
}

TEST_CASE("a table gives each epoch its rate, and the last one to all that follow", "[optim]") {
  const auto history = observe({.name = "table", .initial_rate = 4, .settings = {{"schedule-rates", "4,4,1,2"}}},
                               {no_loss, 1, no_loss, 2, no_loss, no_loss});
  CHECK(history.rates == std::vector<double>{4, 1, 2, 2, 2, 2});
  CHECK(history.restored == std::vector<bool>(6, false));
}

TEST_CASE("newbob halves when the validation loss stops improving by enough", "[optim]") {
  const bool restore = GENERATE(false, true);
  const ScheduleOptions options{
      .name = "newbob", .initial_rate = 8, .settings = {{"newbob-improvement", 0.1}, {"newbob-restore", restore}}};
  // better; too little better; equal; worse; well below the best; worse than the best but better than the last
  const auto history = observe(options, {10, 9.5, 9.5, 12, 8, 9});
  CHECK(history.rates == std::vector<double>{8, 4, 2, 1, 1, 0.5});
  CHECK(history.restored == std::vector<bool>{false, false, restore, restore, false, restore});
}

TEST_CASE("only newbob needs a validation set", "[optim]") {
  for (const std::string name : {"constant", "exponential", "step", "cosine", "wsd", "newbob"})
    for (const double warm_up : {0., 2.}) {
      const auto schedule =
          make_schedule({.name = name, .initial_rate = 1, .epochs = 3, .warm_up_epochs = warm_up, .warm_up_from = 0.1});
      CHECK(schedule->needs_validation() == (name == "newbob"));
    }
}

TEST_CASE("impossible schedules are refused", "[optim]") {
  for (const double factor : {0., -0.5, 1.5, no_loss})
    CHECK_THROWS_AS(make_schedule({.name = "exponential", .initial_rate = 1, .settings = {{"schedule-factor", factor}}}),
                    core::ConfigError);
  for (const int every : {0, -1})
    CHECK_THROWS_AS(make_schedule({.name = "step", .initial_rate = 1, .settings = {{"schedule-every", every}}}),
                    core::ConfigError);
  for (const double rate : {0., -1., no_loss})
    CHECK_THROWS_AS(
        make_schedule({.name = "table", .initial_rate = 1, .settings = {{"schedule-rates", core::format("1,{}", rate)}}}),
        core::ConfigError);
  CHECK_THROWS_WITH(make_schedule({.name = "table", .initial_rate = 1}), contains_text("one per epoch"));
  CHECK_THROWS_WITH(make_schedule({.name = "table", .initial_rate = 1, .settings = {{"schedule-rates", "2,1"}}}),
                    contains_text("begins with 2") && contains_text("the learning rate is 1"));
  REQUIRE_THROWS_WITH(make_schedule({.name = "triangle", .initial_rate = 1}),
                      contains_text("triangle") && contains_text("newbob"));
}

TEST_CASE("multi_step falls after its milestones, which must rise", "[optim]") {
  const core::Settings settings{{"schedule-factor", 0.5}, {"schedule-milestones", "1,3"}};
  CHECK(observe({.name = "multi_step", .initial_rate = 8, .settings = settings}, std::vector<double>(4, no_loss)).rates ==
        std::vector<double>{4, 4, 2, 2});
  for (const char* milestones : {"3,1", "2,2", "1.5"})
    CHECK_THROWS_WITH(
        make_schedule({.name = "multi_step", .initial_rate = 1, .settings = {{"schedule-milestones", milestones}}}),
        contains_text("whole numbers that rise"));
  CHECK_THROWS_WITH(make_schedule({.name = "multi_step", .initial_rate = 1}), contains_text("needs milestones"));
}

TEST_CASE("wsd stays and then falls to its final rate along a line", "[optim]") {
  const auto schedule = make_schedule({.name = "wsd",
                                       .initial_rate = 3,
                                       .settings = {{"schedule-final", 1.0}, {"schedule-decay", 0.375}},
                                       .epochs = 4});  // falls in the last 1.5 epochs
  for (int epoch = 0; epoch < 5; ++epoch) {
    if (epoch > 0) schedule->observe(epoch, no_loss);
    for (const double fraction : {0.0, 0.25, 0.5, 0.75}) {
      const double left = std::min(1.0, std::max(0.0, (4 - epoch - fraction) / 1.5));
      CHECK(schedule->rate(fraction) == Approx(1 + 2 * left));
    }
  }
}

TEST_CASE("cosine falls to its final rate within epochs, too", "[optim]") {
  const auto schedule =
      make_schedule({.name = "cosine", .initial_rate = 3, .settings = {{"schedule-final", 1.0}}, .epochs = 4});
  CHECK(schedule->rate() == 3);
  CHECK(std::abs(schedule->rate(0.5) - (2 + std::cos(std::numbers::pi / 8))) < 1e-12);
  double last = 4;
  for (int epoch = 1; epoch <= 5; ++epoch) {
    schedule->observe(epoch, no_loss);
    const double expected = 2 + std::cos(std::numbers::pi * std::min(epoch, 4) / 4);
    CHECK(std::abs(schedule->rate() - expected) < 1e-12);
    CHECK(schedule->rate() <= last);
    last = schedule->rate();
  }
}

TEST_CASE("a warm-up leads linearly to any schedule's rate", "[optim]") {
  const auto schedule = make_schedule({.name = "exponential",
                                       .initial_rate = 8,
                                       .settings = {{"schedule-factor", 0.5}},
                                       .warm_up_epochs = 2.5,
                                       .warm_up_from = 1});
  CHECK(schedule->rate() == 1);
  CHECK(schedule->rate(0.5) == 1 + 7 * 0.2);
  schedule->observe(1, no_loss);
  CHECK(schedule->rate() == 1 + 3 * 0.4);
  schedule->observe(2, no_loss);
  CHECK(schedule->rate(0.25) == 1 + 1 * 0.9);
  CHECK(schedule->rate(0.5) == 2);
  schedule->observe(3, no_loss);
  CHECK(schedule->rate(0.9) == 1);
}
