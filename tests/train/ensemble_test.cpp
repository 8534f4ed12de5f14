#include "train/ensemble.hpp"

#include <cmath>

#include "catch.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/errors.hpp"
#include "support.hpp"
#include "train/posteriors.hpp"

using namespace paragrad;

TEST_CASE("an ensemble scores the mean of its networks' posteriors", "[train]") {
  test::SmallTask task;
  const train::TrainingData source = train::open_evaluation_data(task.options);
  const auto device = backend::make_device("cpu");
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  const auto subset = data::Subset::test;
  const std::size_t rows = source.info.samples[2], classes = source.info.classes;

  std::vector<std::vector<float>> posteriors;
  std::vector<train::Score> alone;
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::vector<float> parameters(source.network->parameter_count());
    source.network->initialise(seed, parameters);
    for (float& weight : parameters) weight *= 3;  // networks that are surer, and differ more
    posteriors.push_back(train::log_posteriors(worker, source, parameters, subset));
    alone.push_back(train::evaluate(worker, task.options, parameters, source, subset));
  }

  SECTION("of one network, what the evaluator says") {
    train::Ensemble one;
    one.add(posteriors[0]);
    CHECK(one.score(*source.dataset, subset).error == Approx(alone[0].error));
    CHECK(one.score(*source.dataset, subset).loss == Approx(alone[0].loss).epsilon(1e-5));
    one.add(posteriors[0]);  // twice the same is the same
    CHECK(one.score(*source.dataset, subset).loss == Approx(alone[0].loss).epsilon(1e-5));
  }
  SECTION("of three, the mean of their probabilities") {
    train::Ensemble all;
    for (const auto& of_one : posteriors) all.add(of_one);
    const train::Score score = all.score(*source.dataset, subset);
    double loss = 0, errors = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<double> mean(classes);
      for (std::size_t k = 0; k < classes; ++k)
        for (const auto& of_one : posteriors) mean[k] += std::exp(double{of_one[row * classes + k]}) / 3;
      const auto label = static_cast<std::size_t>(source.dataset->label(subset, row));
      loss -= std::log(mean[label]);
      for (std::size_t k = 0; k < classes; ++k)
        if (mean[k] > mean[label]) {
          errors += 1;
          break;
        }
    }
    CHECK(score.loss == Approx(loss / static_cast<double>(rows)));
    CHECK(score.error == Approx(errors / static_cast<double>(rows)));
    CHECK(score.loss < (alone[0].loss + alone[1].loss + alone[2].loss) / 3);  // Jensen's inequality
  }
  SECTION("of nothing, there is no score") {
    CHECK_THROWS_AS(train::Ensemble().score(*source.dataset, subset), core::ConfigError);
    train::Ensemble mixed;
    mixed.add(posteriors[0]);
    CHECK_THROWS_AS(mixed.add(std::span(posteriors[1]).first(classes)), std::logic_error);
  }
}
