// Trainings on real-valued targets.
#include <numeric>

#include "catch.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"
#include "data/writer.hpp"
#include "support.hpp"
#include "train/posteriors.hpp"

using namespace paragrad;

namespace {

constexpr std::size_t dim = 3, targets = 2;

/// A linear function of the features, and noise.
void write_task(const std::string& path, double noise) {
  data::DatasetInfo info;
  info.name = "linear";
  info.dim = dim;
  info.widths.targets = targets;
  data::DatasetWriter writer(path, info);
  const core::RandomStream random(5, core::Purpose::generator);
  std::uint64_t number = 0;
  const auto uniform = [&] { return static_cast<float>(random.uniform(number++) - 0.5); };
  for (const auto& [subset, count] :
       {std::pair{data::Subset::train, 400u}, {data::Subset::valid, 60u}, {data::Subset::test, 80u}}) {
    writer.begin(subset, count);
    for (std::size_t row = 0; row < count; ++row) {
      const std::vector<float> x{uniform(), uniform(), uniform()};
      const std::vector<float> y{2 * x[0] - x[1] + 1 + static_cast<float>(noise) * uniform(),
                                 x[2] + 0.5f + static_cast<float>(noise) * uniform()};
      writer.append(std::span(x), {}, {.targets = y});
      if (row % 20 == 19) writer.end_sequence();
    }
  }
  writer.finish();
}

class Regression {
 public:
  explicit Regression(double noise = 0) {
    task.options.data = task.file("regression.h5");
    task.options.model = "3-2";
    task.options.loss = "squared_error";
    task.options.minibatch = 4;
    task.options.blocks = 2;
    task.options.epochs = 40;
    write_task(task.options.data, noise);
  }
  test::SmallTask task;
};

}  // namespace

TEST_CASE("a linear network learns a linear function, alone and with several workers", "[train]") {
  Regression regression;
  regression.task.options.strategy = GENERATE("model_averaging", "data_parallel", "bmuf");
  const train::Result result = regression.task.simulate(GENERATE(1, 3));
  CHECK(result.valid.error < 1e-3);
  CHECK(result.test.error < 1e-3);
  CHECK(result.test.loss < 1e-3);
}

TEST_CASE("the error of targets is the share of their variance that the outputs leave unexplained", "[train]") {
  Regression regression(1);
  auto& options = regression.task.options;
  options.model = GENERATE("3-4-2:relu", "3-lstm4-2");
  options.chunks = "2-5+2";
  const train::TrainingData source = train::open_evaluation_data(options);
  std::vector<float> parameters(source.network->parameter_count());
  source.network->initialise(7, parameters);
  const auto device = backend::make_device(GENERATE("cpu", "isolated"));
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  const auto outputs = train::outputs_of(worker, source, parameters, data::Subset::test);

  double variance = 0, squares = 0;
  for (std::size_t k = 0; k < targets; ++k) {
    double sum = 0, sum_of_squares = 0;
    for (std::size_t row = 0; row < 400; ++row) {
      const double y = source.dataset->columns(data::Subset::train).targets[row * targets + k];
      sum += y;
      sum_of_squares += y * y;
    }
    variance += sum_of_squares / 400 - sum / 400 * sum / 400;
    for (std::size_t row = 0; row < 80; ++row) {
      const double error =
          outputs[targets * row + k] - source.dataset->columns(data::Subset::test).targets[row * targets + k];
      squares += error * error / 80;
    }
  }
  const train::Score score = train::evaluate(worker, options, parameters, source, data::Subset::test);
  CHECK(score.loss == Approx(squares / 2).epsilon(1e-5));
  CHECK(score.error == Approx(squares / variance).epsilon(1e-5));
}

TEST_CASE("a recurrent network learns targets frame by frame", "[train]") {
  Regression regression;
  auto& options = regression.task.options;
  options.model = "3-lstm8-2";
  options.chunks = "2-5+2";
  options.minibatch = 4;
  options.optimiser.name = "adam";
  options.schedule.initial_rate = 0.02;
  options.strategy = "model_averaging";
  CHECK(regression.task.simulate(2).valid.error < 0.05);
}

TEST_CASE("a loss that does not fit targets is refused, and so are targets that do not vary", "[train]") {
  Regression regression;
  auto& options = regression.task.options;
  options.loss = GENERATE("cross_entropy", "ctc");
  CHECK_THROWS_WITH(train::open_training_data(options, 1), contains_text("the loss is squared_error, not"));
  options.loss = "squared_error";
  options.model = "3-3";
  CHECK_THROWS_WITH(train::open_training_data(options, 1), contains_text("3 outputs") && contains_text("2 targets"));
  options.model = "3-2";
  data::DatasetInfo info;
  info.dim = 3;
  info.widths.targets = 2;
  {
    data::DatasetWriter writer(options.data, info);
    writer.begin(data::Subset::train, 4);
    const std::vector<float> x(12, 1.f), y(8, 2.f);
    writer.append(std::span(x), {}, {.targets = y});
    writer.finish();
  }
  CHECK_THROWS_WITH(train::open_training_data(options, 1), contains_text("all the same"));
}
