#include "train/posteriors.hpp"

#include <cmath>

#include "catch.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;

namespace {

struct Scored {
  double loss = 0, error = 0;
};

/// What the evaluator calls loss and error, from posteriors and labels.
Scored score(const train::Source& source, std::span<const float> posteriors, data::Subset subset) {
  const std::size_t rows = source.info.samples[static_cast<std::size_t>(subset)], classes = source.info.classes;
  Scored sums;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto mine = posteriors.subspan(row * classes, classes);
    const auto label = static_cast<std::size_t>(source.dataset->label(subset, row));
    double whole = 0;
    for (const float x : mine) whole += std::exp(static_cast<double>(x));
    CHECK(whole == Approx(1).epsilon(1e-5));
    sums.loss -= mine[label];
    sums.error += std::ranges::max_element(mine) - mine.begin() != static_cast<std::ptrdiff_t>(label);
  }
  return {sums.loss / static_cast<double>(rows), sums.error / static_cast<double>(rows)};
}

}  // namespace

TEST_CASE("posteriors in the order of the file give the evaluator's loss and error", "[train]") {
  test::SmallTask task;
  const std::string model = GENERATE("8-12-6:sigmoid", "8-blstm5-6");
  const std::string chunks = GENERATE("whole", "4-6+3");
  task.options.model = model;
  task.options.chunks = chunks;
  const train::Source source = train::open_evaluation(task.options);
  std::vector<float> parameters(source.network->parameter_count());
  nn::initialise(source.network->layers, 7, parameters);
  const auto device = backend::make_device("cpu");
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  for (const auto subset : {data::Subset::train, data::Subset::test}) {
    const auto posteriors = train::log_posteriors(*device, source, parameters, subset);
    const auto expected = train::evaluate(worker, task.options, parameters, source, subset);
    const auto found = score(source, posteriors, subset);
    CHECK(found.loss == Approx(expected.loss).epsilon(1e-5));
    CHECK(found.error == Approx(expected.error));
  }
  parameters.pop_back();
  CHECK_THROWS_AS(train::log_posteriors(*device, source, parameters, data::Subset::test), core::ConfigError);
}

TEST_CASE("priors are the logarithms of the classes' shares among the training labels", "[train]") {
  const test::SmallTask task;
  const auto dataset = data::Dataset::open(task.options.data);
  const auto priors = train::log_priors(*dataset);
  REQUIRE(priors.size() == 6);
  std::vector<double> counts(6, 0);
  for (std::size_t row = 0; row < 613; ++row) ++counts[static_cast<std::size_t>(dataset->label(data::Subset::train, row))];
  for (std::size_t k = 0; k < 6; ++k) CHECK(priors[k] == Approx(std::log(counts[k] / 613)));
}
