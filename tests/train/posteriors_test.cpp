#include "train/posteriors.hpp"

#include <cmath>

#include "catch.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;

namespace {

struct Scored {
  double loss = 0, error = 0;
};

/// What the evaluator calls loss and error, from posteriors and labels.
Scored score(const train::TrainingData& source, std::span<const float> posteriors, data::Subset subset) {
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
  const std::string chunks = GENERATE("whole", "4-6+3", "1-6+1/4");
  task.options.model = model;
  task.options.chunks = chunks;
  const train::TrainingData source = train::open_evaluation_data(task.options);
  std::vector<float> parameters(source.network->parameter_count());
  source.network->initialise(7, parameters);
  const auto device = backend::make_device("cpu");
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  for (const auto subset : {data::Subset::train, data::Subset::test}) {
    const auto posteriors = train::log_posteriors(worker, source, parameters, subset);
    const auto expected = train::evaluate(worker, task.options, parameters, source, subset);
    const auto found = score(source, posteriors, subset);
    CHECK(found.loss == Approx(expected.loss).epsilon(1e-5));
    CHECK(found.error == Approx(expected.error));
  }
  parameters.pop_back();
  CHECK_THROWS_AS(train::log_posteriors(worker, source, parameters, data::Subset::test), core::ConfigError);
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

TEST_CASE("a class without training samples has the prior of one sample", "[train]") {
  const test::SmallTask task(2);
  const auto dataset = data::Dataset::open(task.options.data);
  std::vector<double> counts(6, 0);
  for (std::size_t row = 0; row < 2; ++row) ++counts[static_cast<std::size_t>(dataset->label(data::Subset::train, row))];
  const double all = std::ranges::max(counts) == 2 ? 2 + 5 : 6;
  const auto priors = train::log_priors(*dataset);
  for (std::size_t k = 0; k < 6; ++k) CHECK(priors[k] == Approx(std::log(std::max(counts[k], 1.0) / all)));
}

namespace {

/// Posteriors of a recurrent network of fixed random weights.
std::vector<float> posteriors_by(test::SmallTask& task, const std::string& chunks, const char* device_name) {
  task.options.model = "8-2xblstm5p3+peepholes-6";
  task.options.chunks = chunks;
  const train::TrainingData source = train::open_evaluation_data(task.options);
  std::vector<float> parameters(source.network->parameter_count());
  source.network->initialise(7, parameters);
  const auto device = backend::make_device(device_name);
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  return train::log_posteriors(worker, source, parameters, data::Subset::test);
}

}  // namespace

TEST_CASE("a recurrent network says the same of an utterance in chunks that are longer and as a whole, bit for bit",
          "[train]") {
  test::SmallTask task;
  const char* device = GENERATE("reference", "cpu");
  const auto whole = posteriors_by(task, "whole", device);
  CHECK(posteriors_by(task, "21-64+21", device) == whole);
  CHECK(posteriors_by(task, "21-64+21/32", device) == whole);
  CHECK(posteriors_by(task, "64-1+64", device) == whole);  // all there is as context
  CHECK(posteriors_by(task, "3-8+3", device) != whole);
}

TEST_CASE("chunks that overlap come nearer to whole sequences than the same chunks side by side", "[train]") {
  test::SmallTask task;
  const auto whole = posteriors_by(task, "whole", "cpu");
  const auto distance = [&](const std::string& chunks) {
    const auto found = posteriors_by(task, chunks, "cpu");
    double sum = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) sum += std::abs(double{found[i]} - double{whole[i]});
    return sum;
  };
  CHECK(distance("8/6") < distance("8/4"));
  CHECK(distance("8/4") < distance("8"));
}

TEST_CASE("posteriors are the same bits for any number of workers", "[train]") {
  test::SmallTask task;
  task.options.model = GENERATE("8-12-6:sigmoid", "8-blstm5-6");
  task.options.chunks = GENERATE("whole", "4-6+3");
  const train::TrainingData source = train::open_evaluation_data(task.options);
  std::vector<float> parameters(source.network->parameter_count());
  source.network->initialise(7, parameters);
  const auto by = [&](int workers) {
    std::vector<float> found;
    sim::run(workers, [&](comm::Worker& worker) {
      auto mine = train::log_posteriors(worker, source, parameters, data::Subset::train);
      if (worker.rank() == 0) {
        found = std::move(mine);
      } else {
        CHECK(mine.empty());
      }
    });
    return found;
  };
  const auto alone = by(1);
  CHECK(alone.size() == 613 * 6);
  for (const int workers : {2, 3, 50}) CHECK(by(workers) == alone);  // 50: more than there are batches
}
