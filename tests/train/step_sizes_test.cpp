#include "train/step_sizes.hpp"

#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"

using namespace paragrad;
using train::StepSizes;

namespace {

train::TrainingOptions options_of(double rate, std::size_t minibatch) {
  train::TrainingOptions options;
  options.schedule.initial_rate = rate;
  options.minibatch = minibatch;
  options.momentum = 0;
  return options;
}

/// What a single sample with gradient 1 has moved when updates of `samples` samples each have gone on for long.
double displacement(const StepSizes& sizes, double rate, std::size_t samples) {
  double moved = 0, velocity = 1;
  for (int update = 0; update < 20000; ++update) {
    const optim::Step step = sizes.of(rate, samples);
    moved += step.rate * velocity;
    velocity *= step.momentum;
  }
  return moved;
}

}  // namespace

TEST_CASE("a rate per minibatch is that of its samples together", "[train]") {
  train::TrainingOptions per_sample = options_of(0.002, 50), per_minibatch = options_of(0.1, 50);
  per_sample.rate_per = "sample";
  for (const std::size_t samples : {50u, 20u, 1u})
    CHECK(StepSizes(per_sample).of(0.002, samples).rate == Approx(StepSizes(per_minibatch).of(0.1, samples).rate));
}

TEST_CASE("a minibatch of a whole block divides the rate by its samples", "[train]") {
  CHECK(StepSizes(options_of(0.1, 0)).of(0.1, 40).rate == Approx(0.1 / 40));
}

TEST_CASE("momentum as a time constant is e^(-n/T) for n samples", "[train]") {
  train::TrainingOptions options = options_of(0.1, 100);
  options.momentum_time_constant = 500;
  CHECK(StepSizes(options).of(0.1, 100).momentum == Approx(std::exp(-0.2)));
  CHECK(StepSizes(options).of(0.1, 25).momentum == Approx(std::exp(-0.05)));
}

TEST_CASE("where sizes are tuned, momentum per minibatch is a time constant: twice the samples, its square", "[train]") {
  train::TrainingOptions options = options_of(0.1, 50);
  options.momentum = 0.9;
  CHECK(StepSizes(options).of(0.1, 100).momentum == Approx(0.9));
  options.minibatch_search.enabled = true;
  CHECK(StepSizes(options).of(0.1, 50).momentum == Approx(0.9));
  CHECK(StepSizes(options).of(0.1, 100).momentum == Approx(0.81));
}

TEST_CASE("with a time constant all that a sample moves is the same in minibatches of every size", "[train]") {
  train::TrainingOptions options = options_of(0.1, 64);
  options.momentum_time_constant = 600;
  options.unit_gain = GENERATE(true, false);
  const StepSizes sizes(options);
  const double expected = options.unit_gain ? 0.1 / 64 : 0.1 / 64 / (1 - std::exp(-64 / 600.));
  for (const std::size_t samples : {1u, 64u, 100u, 1024u, 20000u})
    CHECK(displacement(sizes, 0.1, samples) == Approx(expected).epsilon(1e-4));
}

TEST_CASE("a rule with unit gain gets the rate as it is, whatever the momentum", "[train]") {
  train::TrainingOptions options = options_of(0.1, 64);
  options.optimiser.name = "qhm";
  options.momentum = 0.9;
  CHECK(StepSizes(options).of(0.1, 64).rate == Approx(0.1 / 64));
  CHECK_THAT(StepSizes(options).describe(), contains_text("total contribution of a sample: 0.001563 times its gradient"));
  options.momentum_time_constant = 600;
  for (const std::size_t samples : {1u, 64u, 1024u}) CHECK(StepSizes(options).of(0.1, samples).rate == Approx(0.1 / 64));
}

TEST_CASE("a step on a part of a minibatch is as long as one on all of it where samples agree", "[train]") {
  train::TrainingOptions options = options_of(0.1, 60);
  options.l2 = 0.01;
  const StepSizes sizes(options);
  const optim::Step whole = sizes.of(0.1, 60), part = sizes.of_part(0.1, 15, 60);
  CHECK(part.rate * 15 == Approx(whole.rate * 60));
  CHECK(part.rate * part.decay == Approx(whole.rate * whole.decay));
  CHECK(part.samples == 15);
  CHECK(sizes.of_part(0.1, 60, 60).rate == whole.rate);
  CHECK(std::isfinite(sizes.of_part(0.1, 0, 60).rate));
}

TEST_CASE("samples that are sequences count with all their rows", "[train]") {
  train::TrainingOptions sequences = options_of(0.1, 16), rows = options_of(0.1, 64);
  sequences.l2 = rows.l2 = 0.01;
  sequences.momentum_time_constant = rows.momentum_time_constant = 300;
  const optim::Step of_sequences = StepSizes(sequences, 4).of(0.1, 10), of_rows = StepSizes(rows).of(0.1, 40);
  CHECK(of_sequences.rate == of_rows.rate);
  CHECK(of_sequences.decay == of_rows.decay);
  CHECK(of_sequences.momentum == of_rows.momentum);
  CHECK(of_sequences.samples == of_rows.samples);
}

TEST_CASE("momentum means nothing to rules without one, and does not shorten their steps", "[train]") {
  train::TrainingOptions options = options_of(0.1, 50);
  options.momentum = 0.9;
  options.unit_gain = true;
  options.optimiser.name = GENERATE("sgd", "adam");
  const optim::Step step = StepSizes(options).of(0.1, 50);
  CHECK(step.rate == Approx(0.1 / 50));
  CHECK(step.momentum == 0);
  CHECK(step.samples == 50);
}

TEST_CASE("momentum outside [0, 1) and a negative time constant are refused", "[train]") {
  train::TrainingOptions options = options_of(0.1, 64);
  for (const double momentum : {-0.1, 1., 2., std::nan("")}) {
    options.momentum = momentum;
    CHECK_THROWS_AS(StepSizes(options), core::ConfigError);
  }
  options = options_of(0.1, 64);
  options.momentum_time_constant = -1;
  CHECK_THROWS_AS(StepSizes(options), core::ConfigError);
}
