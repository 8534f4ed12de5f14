// Training of networks that the notation cannot describe: buffers of batch normalisation, random numbers of dropout.
#include "backend/device.hpp"
#include "catch.hpp"
#include "support.hpp"
#include "tests/nn/networks.hpp"
#include "train/state/checkpoint.hpp"
#include "train/state/state_store.hpp"

using namespace paragrad;

namespace {

struct GraphTask : test::SmallTask {
  explicit GraphTask(const std::string& name) : network(std::make_shared<const nn::Graph>(test::network(name, 8, 6))) {}

  train::Result run(int workers, const sim::Platform& platform, const train::Output& given = {},
                    const sim::SimulationOptions& how = {}) const {
    const bool computes = backend::make_device(how.device)->computes();
    train::TrainingData source =
        computes ? train::open_training_data(options, workers) : train::imagine_training_data(options, workers);
    source.network = network;
    const train::Output output = test::resumable(given, options, source);
    train::Result result;
    sim::run(platform, workers, how, [&](comm::Worker& worker) {
      const train::Result mine = train::train(worker, options, source, output);
      if (worker.rank() == 0) result = mine;
    });
    return result;
  }
  train::Result run(int workers) const { return run(workers, sim::free_platform(workers)); }

  std::shared_ptr<const nn::Graph> network;
};

}  // namespace

TEST_CASE("checkpoints hold the running statistics of batch normalisation behind the parameters", "[train]") {
  GraphTask task("batch_norm");
  task.options.strategy = GENERATE("data_parallel", "bmuf");
  task.options.tensor_parallel = GENERATE(1, 2);
  metrics::RunFolder folder(task.file("run"), metrics::RunFolder::Existing::refuse);
  const train::Result result = task.run(4, sim::free_platform(4), {.folder = &folder});
  const std::vector<float> model = train::read_checkpoint(folder.file("checkpoint.h5")).parameters;
  REQUIRE(model.size() == task.network->model_size());
  REQUIRE(task.network->buffer_count() == 2 * 7);
  const auto buffers = std::span(model).subspan(task.network->parameter_count());
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(buffers[i] != 0);  // initial mean
    CHECK(buffers[7 + i] > 0);
    CHECK(buffers[7 + i] != 1);  // initial variance
  }
  task.options.init = folder.file("checkpoint.h5");
  task.options.schedule.initial_rate =
      1e-30;  // parameters stay, and so does what validation computes from the buffers at first
  task.options.epochs = 1;
  CHECK(task.run(4).valid.loss == Approx(result.valid.loss).epsilon(0.05));
}

TEST_CASE("an interrupted run with running statistics ends in the same bits", "[train]") {
  GraphTask task("batch_norm");
  task.options.strategy = "bmuf";
  const sim::Platform cluster = test::slow_cluster(4);
  const train::Result whole = task.run(4, cluster);
  const train::Output output{.state_folder = task.file("state"), .state_every_blocks = 1};
  sim::Platform failing = cluster;
  failing.faults.push_back({.at_s = 0.6 * whole.training_s, .kind = sim::Platform::Fault::Kind::worker, .id = 2});
  CHECK_THROWS_AS(task.run(4, failing, output), comm::Failure);
  REQUIRE(train::StateStore::saved_phase(output.state_folder));
  CHECK(task.run(4, cluster, output).parameters_sha256 == whole.parameters_sha256);
}

TEST_CASE("a timing run of any graph takes exactly the simulated time of the run that computes", "[train]") {
  const std::string name = GENERATE("batch_norm", "dropout", "residual", "shared", "two_outputs", "images", "normalising");
  GraphTask task(name);
  task.options.strategy = GENERATE("data_parallel", "bmuf");
  task.options.tensor_parallel = GENERATE(1, 2);
  if (task.options.tensor_parallel > 1 && !test::can_be_split(name)) return;
  CAPTURE(name, task.options.strategy, task.options.tensor_parallel);
  const sim::Platform cluster = test::slow_cluster(4);
  const train::Result computed = task.run(4, cluster), timed = task.run(4, cluster, {}, {.device = "meta"});
  CHECK(timed.training_s == computed.training_s);
  CHECK(timed.times.optimise_s == computed.times.optimise_s);
}

TEST_CASE("what dropout drops depends neither on the number of workers nor on how they split the network", "[train]") {
  GraphTask task("dropout");
  task.options.strategy = "data_parallel";
  task.options.splits = 4;
  task.options.epochs = 1;
  const double one = task.run(1).train.loss;
  CHECK(task.run(4).train.loss == Approx(one).epsilon(1e-4));
  task.options.tensor_parallel = 2;
  CHECK(task.run(4).train.loss == Approx(one).epsilon(1e-4));
  task.options.tensor_parallel = 1;
  task.options.seed = 2;
  CHECK(task.run(1).train.loss != Approx(one).epsilon(1e-4));
}
