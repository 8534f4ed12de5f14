#include "train/pretraining.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "comm/wrappers/group_worker.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "support.hpp"
#include "train/state/checkpoint.hpp"
#include "train/state/state_store.hpp"

using namespace paragrad;

namespace {

/// Nodes on which computing and talking take time.
/// Two machines, of real-valued features.
struct PretrainedTask : test::SmallTask {
  PretrainedTask() {
    options.model = "8-12-10-6:sigmoid";
    options.strategy = "data_parallel";
    options.epochs = 1;
    options.pretraining.epochs = 2;
    options.pretraining.rates = {0.01, 0.1};
    options.pretraining.minibatch = 20;
    options.pretraining.visible_units = "gaussian";
  }

  /// Servers behind the workers too.
  train::Result run(int workers, const sim::Platform& platform, const sim::SimulationOptions& how = {},
                    const train::Output& given = {}) const {
    const bool computes = backend::make_device(how.device)->computes();
    const train::TrainingData source =
        computes ? train::open_training_data(options, workers) : train::imagine_training_data(options, workers);
    const train::Output output = test::resumable(given, options, source);
    train::Result result;
    const int servers = core::read_options<strategies::ServerOptions>(options.strategy_settings).servers;
    sim::run(platform, workers + servers, how, [&](comm::Worker& all_ranks) {
      if (all_ranks.rank() >= workers) return train::serve(all_ranks, workers, options, output);
      comm::GroupWorker worker(all_ranks, 0, 1, workers);
      const train::Result mine = train::train(worker, options, source, output);
      if (worker.rank() == 0) result = mine;
    });
    return result;
  }

  /// The parameters in which a run of so many workers ends.
  std::vector<float> outcome(int workers, const std::string& name) const {
    metrics::RunFolder folder(file(name), metrics::RunFolder::Existing::refuse);
    simulate(workers, sim::free_platform(workers), {}, {.folder = &folder});
    return train::read_checkpoint(folder.file("checkpoint.h5")).parameters;
  }
};

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, static_cast<double>(std::abs(a[i] - b[i])));
  return largest;
}

}  // namespace

TEST_CASE("a pretrained network begins with its machines and an output layer that knows nothing", "[train]") {
  PretrainedTask task;
  task.options.epochs = 0;
  const auto network = task.outcome(1, "pretrained");
  const nn::Graph layers = nn::make_graph(task.options.model);
  std::vector<float> untrained(layers.parameter_count());
  layers.initialise(task.options.seed, untrained);
  const std::size_t hidden = 8 * 12 + 12 + 12 * 10 + 10;
  CHECK(std::equal(network.begin() + hidden, network.end(), untrained.begin() + hidden));
  for (std::size_t i = 0; i < hidden; ++i) CHECK(network[i] != untrained[i]);
}

TEST_CASE("pretraining alone and then training is the same as both at once", "[train]") {
  PretrainedTask task;
  task.options.strategy = GENERATE("data_parallel", "bmuf");
  const auto at_once = task.outcome(3, "at-once");
  task.options.epochs = 0;
  task.outcome(3, "alone");
  task.options.epochs = 1;
  task.options.pretraining.epochs = 0;
  task.options.init = task.file("alone/checkpoint.h5");
  CHECK(task.outcome(3, "afterwards") == at_once);
}

TEST_CASE("machines are trained by their own numbers, not by the network's", "[train]") {
  PretrainedTask task;
  task.options.epochs = 0;
  const auto machines = task.outcome(1, "plain");
  SECTION("momentum") { task.options.momentum_time_constant = 100; }
  SECTION("unit gain") { task.options.unit_gain = true; }
  SECTION("L2") { task.options.l2 = 0.1; }
  SECTION("unit of the rate") { task.options.rate_per = "sample"; }
  SECTION("limits") { task.options.optimiser.clip_per_sample = 1e-3; }
  SECTION("late parallel start") { task.options.parallel_start_epoch = 5; }
  CHECK(task.outcome(1, "other") == machines);
}

TEST_CASE("data-parallel machines learn what one worker's do, up to rounding", "[train]") {
  PretrainedTask task;
  task.options.epochs = 0;
  task.options.pretraining.activations = GENERATE("sampled", "mean");
  task.options.pretraining.machine.cd_steps = GENERATE(1, 2);
  const auto alone = task.outcome(1, "alone");
  task.options.splits = 1;
  CHECK(distance(task.outcome(3, "three"), alone) < 1e-4);
}

TEST_CASE("every layer's epochs are on record, and machines learn", "[train]") {
  PretrainedTask task;
  task.options.pretraining.epochs = 5;
  task.options.pretraining.machine.persistent = GENERATE(false, true);
  metrics::RunFolder folder(task.file("run"), metrics::RunFolder::Existing::refuse);
  const train::Result result = task.simulate(2, test::slow_cluster(2), {}, {.folder = &folder});
  const auto records = test::records_of(folder);
  REQUIRE(records.size() == 11);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(records[i]["phase"] == "pretrain");
    CHECK(records[i]["layer"] == i / 5 + 1);
    CHECK(records[i]["epoch"] == i % 5 + 1);
    CHECK(std::isfinite(double{records[i]["free_energy_gap"]}));
  }
  for (const std::size_t layer : {0u, 5u}) {
    const double first = records[layer]["valid_reconstruction_error"],
                 last = records[layer + 4]["valid_reconstruction_error"];
    CHECK(last < first);
  }
  CHECK_FALSE(records[10].contains("phase"));
  CHECK(result.samples == 613);
  CHECK(result.pretraining_samples == 2 * 5 * 613);
  CHECK(result.pretraining_s == Approx(double{records[4]["time_s"]} + double{records[9]["time_s"]}).epsilon(1e-3));
}

TEST_CASE("a machine that does not move scores the same after every epoch, though those below it draw states", "[train]") {
  PretrainedTask task;
  task.options.pretraining.epochs = 3;
  task.options.pretraining.rates = {0.01, 1e-30};  // the upper layer's is lost to rounding
  metrics::RunFolder folder(task.file("run"), metrics::RunFolder::Existing::refuse);
  task.simulate(2, sim::free_platform(2), {}, {.folder = &folder});
  const auto records = test::records_of(folder);
  REQUIRE(records[5]["layer"] == 2);
  for (const char* score : {"valid_reconstruction_error", "free_energy_gap"}) {
    CHECK(records[4][score] == records[3][score]);
    CHECK(records[5][score] == records[3][score]);
  }
}

TEST_CASE("a run that dies while its layers are trained resumes to the same bits", "[train]") {
  PretrainedTask task;
  task.options.strategy = GENERATE("data_parallel", "bmuf");
  task.options.pretraining.machine.persistent = GENERATE(false, true);
  const train::Result whole = task.simulate(3, test::slow_cluster(3));
  metrics::RunFolder folder(task.file("run"), metrics::RunFolder::Existing::refuse);
  const train::Output output{.folder = &folder, .state_folder = task.file("run/state"), .state_every_blocks = 1};
  int deaths = 0, phase = 0;
  for (const double share : {0.35, 0.3, 0.2}) {
    sim::Platform platform = test::slow_cluster(3);
    const double at_s = share * (whole.pretraining_s + whole.training_s);
    platform.faults.push_back({.at_s = at_s, .kind = sim::Platform::Fault::Kind::worker, .id = 1});
    try {
      task.simulate(3, platform, {}, output);
    } catch (const comm::Failure&) {
      ++deaths;
      const int saved = train::StateStore::saved_phase(output.state_folder).value();
      CHECK(saved >= phase);
      phase = saved;
    }
  }
  CHECK(deaths == 3);
  CHECK(phase > 0);
  const train::Result resumed = task.simulate(3, test::slow_cluster(3), {}, output);
  CHECK(resumed.parameters_sha256 == whole.parameters_sha256);
  CHECK(resumed.samples == whole.samples);
  CHECK(resumed.pretraining_samples == whole.pretraining_samples);
  CHECK(resumed.pretraining_s == Approx(whole.pretraining_s).epsilon(0.1));
  CHECK(resumed.training_s == Approx(whole.training_s).epsilon(0.1));
  CHECK(folder.records() == 5);
}

TEST_CASE("a timing run takes the time of pretraining that computes", "[train]") {
  PretrainedTask task;
  const auto [strategy, servers] = GENERATE(table<std::string, int>(
      {{"data_parallel", 0}, {"model_averaging", 0}, {"bmuf", 0}, {"easgd", 1}, {"async_sgd", 0}, {"async_sgd", 2}}));
  CAPTURE(strategy, servers);
  task.options.strategy = strategy;
  if (servers > 0) task.options.strategy_settings["servers"] = servers;
  task.options.pretraining.machine.persistent = GENERATE(false, true);
  const train::Result computed = task.run(3, test::slow_cluster(3 + servers));
  const train::Result timed = task.run(3, test::slow_cluster(3 + servers), {.device = "meta"});
  CHECK(timed.pretraining_s == computed.pretraining_s);
  CHECK(timed.training_s == computed.training_s);
  CHECK(timed.pretraining_samples == computed.pretraining_samples);
}

TEST_CASE("one asynchronous worker's machines are those of sgd, bit for bit", "[train]") {
  PretrainedTask task;
  task.options.optimiser.name = "nesterov";  // the only arithmetic that is not done in another order
  task.options.strategy = "sgd";
  const train::Result alone = task.run(1, test::slow_cluster(1));
  task.options.strategy = "async_sgd";
  const int servers = GENERATE(0, 1, 2);
  task.options.strategy_settings["servers"] = servers;
  CHECK(task.run(1, test::slow_cluster(1 + servers)).parameters_sha256 == alone.parameters_sha256);
}

TEST_CASE("pretraining that makes no sense is refused", "[train]") {
  PretrainedTask task;
  train::PretrainingOptions& pretraining = task.options.pretraining;
  const auto refused = [&](const std::string& why) { CHECK_THROWS_WITH(task.simulate(2), contains_text(why)); };
  SECTION("rates") {
    pretraining.rates = {0.1, 0.1, 0.1};
    refused("3 rates for 2 layers");
    pretraining.rates = {0.1, -0.1};
    refused("`pretrain-learning-rate`: '-0.1' is not a number above 0");
  }
  SECTION("numbers that are no probabilities") {
    pretraining.visible_units = "binomial";
    refused("`visible-units` gaussian");
  }
  SECTION("two beginnings") {
    task.options.init = "somewhere.h5";
    refused("give only one of them");
  }
  SECTION("model") {
    task.options.model = "8-12-6:tanh";
    refused("choose :sigmoid");
    task.options.model = "8-6";
    refused("no hidden layer");
  }
  SECTION("tensor parallelism") {
    task.options.tensor_parallel = 2;
    refused("`tensor-parallel` does not work in pretraining");
  }
  SECTION("nothing to do") {
    task.options.epochs = pretraining.epochs = 0;
    refused("`epochs` 0 trains nothing");
  }
  SECTION("a rate that is too high") {
    pretraining.rates = {1e30};
    refused("lower the learning rate");
  }
}
