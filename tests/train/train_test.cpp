#include <cmath>
#include <fstream>
#include <set>
#include <string>

#include "backend/device.hpp"
#include "catch.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "data/hdf5_file.hpp"
#include "support.hpp"
#include "train/state/checkpoint.hpp"

using namespace paragrad;

namespace {

sim::Platform slow_platform(int workers) {
  sim::Platform platform = sim::free_platform(workers);
  platform.device = {1e12, 1e11, 1, 1, 1e-6};
  platform.leaf = {{1e-5, 1e9}, 1};
  return platform;
}

}  // namespace

TEST_CASE("every strategy with one worker ends in the weights of sgd", "[train]") {
  test::SmallTask task;
  const std::string reference = task.simulate(1).parameters_sha256;
  for (const char* strategy : {"data_parallel", "model_averaging", "bmuf", "post_local_sgd"}) {
    task.options.strategy = strategy;
    CHECK(task.simulate(1).parameters_sha256 == reference);
  }
}

TEST_CASE("a worker without peers and an emulated one train alike", "[train]") {
  test::SmallTask task;
  const train::TrainingData source = train::open_training_data(task.options, 1);
  const auto device = backend::make_device("cpu");
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  CHECK(train::train(worker, task.options, source, {}).parameters_sha256 == task.simulate(1).parameters_sha256);
}

TEST_CASE("data-parallel workers compute what one worker computes, up to the order of additions", "[train]") {
  test::SmallTask task;
  task.options.splits = 3;  // the same partition, whatever the number of workers
  const train::Result one = task.simulate(1);
  task.options.strategy = "data_parallel";
  const int workers = GENERATE(2, 3, 4, 20);  // 20: some get no sample of a minibatch
  const train::Result many = task.simulate(workers);
  CHECK(many.samples == one.samples);
  CHECK(many.train.loss == Approx(one.train.loss).epsilon(1e-4));
  CHECK(many.valid.loss == Approx(one.valid.loss).epsilon(1e-4));
}

TEST_CASE("data-parallel Adam is Adam of one worker, up to the order of additions", "[train]") {
  test::SmallTask task;
  task.options.splits = 3;
  task.options.optimiser.name = GENERATE("adam", "adamw");
  task.options.schedule.initial_rate = 0.003;
  task.options.l2 = 0.001;
  const train::Result one = task.simulate(1);
  task.options.strategy = "data_parallel";
  const train::Result many = task.simulate(GENERATE(2, 3));
  CHECK(many.train.loss == Approx(one.train.loss).epsilon(1e-4));
  CHECK(many.valid.loss == Approx(one.valid.loss).epsilon(1e-4));
}

TEST_CASE("data-parallel LARS is LARS of one worker, up to the order of additions", "[train]") {
  test::SmallTask task;
  task.options.splits = 3;
  task.options.optimiser.name = "lars";
  task.options.optimiser.settings = {{"lars-trust", 0.02}};
  task.options.l2 = 0.001;
  const train::Result one = task.simulate(1);
  task.options.strategy = "data_parallel";
  const train::Result many = task.simulate(GENERATE(2, 3));
  CHECK(many.train.loss == Approx(one.train.loss).epsilon(1e-4));
  CHECK(many.valid.loss == Approx(one.valid.loss).epsilon(1e-4));
}

TEST_CASE("result and simulated times do not depend on host threads and repeat exactly", "[train]") {
  const std::string strategy = GENERATE("data_parallel", "model_averaging", "bmuf");
  const std::string collective = GENERATE("ring", "tree", "parameter_server");
  test::SmallTask task;
  task.options.strategy = strategy;
  task.options.strategy_settings["collective"] = collective;
  const auto run = [&](int threads) { return task.simulate(5, slow_platform(5), {threads, "cpu", "fifo"}); };
  const train::Result first = run(1);
  CHECK(first.times.aggregate_s > 0);
  for (const int threads : {1, 2, 3}) {
    const train::Result again = run(threads);
    CHECK(again.parameters_sha256 == first.parameters_sha256);
    CHECK(again.training_s == first.training_s);
    CHECK(again.times.aggregate_s == first.times.aggregate_s);
    CHECK(again.test.loss == first.test.loss);
  }
}

TEST_CASE("a minibatch in micro-batches makes the step of the whole, to rounding", "[train]") {
  test::SmallTask task(300);
  task.options.strategy = GENERATE("sgd", "data_parallel", "bmuf");
  task.options.optimiser.name = GENERATE("momentum", "adam");
  task.options.epochs = 1;
  task.options.minibatch = 60;
  const auto after = [&](std::size_t micro_batch) {
    task.options.micro_batch = micro_batch;
    return task.simulate(task.options.strategy == "sgd" ? 1 : 2);
  };
  const train::Result whole = after(0), parts = after(7);
  CHECK(after(60).parameters_sha256 == whole.parameters_sha256);
  CHECK(parts.parameters_sha256 != whole.parameters_sha256);
  CHECK(parts.train.loss == Approx(whole.train.loss).epsilon(1e-5));
  CHECK(parts.valid.loss == Approx(whole.valid.loss).epsilon(1e-5));
  CHECK(parts.samples == whole.samples);
}

TEST_CASE("training learns", "[train]") {
  test::SmallTask task(3000);
  task.options.epochs = 6;
  const std::string strategy =
      GENERATE("sgd", "data_parallel", "model_averaging", "bmuf", "slowmo", "diloco", "streaming_diloco", "post_local_sgd");
  task.options.strategy = strategy;
  const train::Result result = task.simulate(strategy == "sgd" ? 1 : 3);
  CHECK(result.test.error < 0.35);  // chance: 0.83
  CHECK(result.samples == 6 * 3000);
}

TEST_CASE("full gradient descent does not depend on the size of the micro-batches", "[train]") {
  test::SmallTask task(2500);
  task.options.micro_batch = GENERATE(0u, 1000u);
  task.options.minibatch = 0;
  task.options.blocks = 1;
  task.options.optimiser.name = "sgd";
  const train::Result one = task.simulate(1);
  task.options.strategy = "data_parallel";
  CHECK(task.simulate(4).valid.loss == Approx(one.valid.loss).epsilon(1e-5));
}

TEST_CASE("post_local_sgd has the weights of data_parallel before its local epochs, and others after them", "[train]") {
  test::SmallTask task;
  const int workers = GENERATE(2, 3);
  task.options.strategy = "data_parallel";
  const std::string reference = task.simulate(workers).parameters_sha256;
  task.options.strategy = "post_local_sgd";
  task.options.strategy_settings["local-start-epoch"] = 3;  // after the last
  CHECK(task.simulate(workers).parameters_sha256 == reference);
  task.options.strategy_settings["local-start-epoch"] = 2;
  CHECK(task.simulate(workers).parameters_sha256 != reference);
}

TEST_CASE("local epochs with one minibatch per block are data_parallel up to rounding", "[train]") {
  test::SmallTask task;
  task.options.blocks = 39;  // of 15 or 16 samples
  task.options.optimiser.name = "sgd";
  const int workers = GENERATE(2, 3, 20);  // 20: some get no sample
  task.options.splits = 3;
  task.options.strategy = "data_parallel";
  const train::Result together = task.simulate(workers);
  task.options.strategy = "post_local_sgd";
  task.options.strategy_settings["local-start-epoch"] = GENERATE(1, 2);
  const train::Result apart = task.simulate(workers);
  CHECK(apart.samples == together.samples);
  CHECK(apart.train.loss == Approx(together.train.loss).epsilon(1e-5));
  CHECK(apart.valid.loss == Approx(together.valid.loss).epsilon(1e-5));
}

TEST_CASE("a learning rate per sample is one per minibatch divided by its size", "[train]") {
  test::SmallTask task;
  const std::string reference = task.simulate(1).parameters_sha256;
  task.options.rate_per = "sample";
  task.options.schedule.initial_rate = 0.2 / 16;
  CHECK(task.simulate(1).parameters_sha256 == reference);
}

TEST_CASE("a loss that is no number stops the training and names epoch and worker", "[train]") {
  test::SmallTask task;
  const std::string strategy = GENERATE("sgd", "data_parallel", "bmuf");
  task.options.strategy = strategy;
  task.options.model = "8-12-6:relu";
  task.options.schedule.initial_rate = 1e30;
  CHECK_THROWS_WITH(task.simulate(strategy == "sgd" ? 1 : 2), contains_text("on worker") && contains_text("epoch 1"));
}

TEST_CASE("training goes on from a checkpoint, and refuses that of another model", "[train]") {
  test::SmallTask task;
  metrics::RunFolder folder(task.file("run"), metrics::RunFolder::Existing::refuse);
  const train::Result first = task.simulate(1, sim::free_platform(1), {}, {&folder, nullptr});
  const train::Checkpoint checkpoint = train::read_checkpoint(folder.file("checkpoint.h5"));
  CHECK(train::parameters_sha256(checkpoint.parameters) == first.parameters_sha256);
  CHECK(checkpoint.epoch == 2);

  task.options.init = folder.file("checkpoint.h5");
  task.options.strategy = "bmuf";
  CHECK(task.simulate(3).train.loss < first.train.loss);
  task.options.model = "8-13-6:sigmoid";
  CHECK_THROWS_WITH(task.simulate(1), contains_text("holds the model '8-12-6:sigmoid', not '8-13-6:sigmoid'"));
}

TEST_CASE("epochs before the parallel start are the training of one worker", "[train]") {
  test::SmallTask task;
  task.options.splits = 2;
  task.options.parallel_start_epoch = task.options.epochs + 1;
  task.options.optimiser.name = GENERATE("momentum", "nesterov");
  const std::string one = task.simulate(1).parameters_sha256;
  task.options.strategy = GENERATE("model_averaging", "bmuf");
  CHECK(task.simulate(2).parameters_sha256 == one);
}

TEST_CASE("data-parallel workers that start late go on as the lone worker does, all that its rule remembers included",
          "[train]") {
  test::SmallTask task;
  task.options.splits = 1;
  task.options.optimiser.name = GENERATE("momentum", "adam", "adagrad");
  if (task.options.optimiser.name != "momentum") task.options.schedule.initial_rate = 0.01;
  const train::Result one = task.simulate(1);
  task.options.strategy = "data_parallel";
  task.options.parallel_start_epoch = 2;
  const train::Result late = task.simulate(3);
  CHECK(late.train.loss == Approx(one.train.loss).epsilon(1e-5));
  CHECK(late.samples == one.samples);
}

TEST_CASE("all data-parallel workers end with the same model", "[train]") {
  test::SmallTask task;
  task.options.strategy = "data_parallel";
  task.options.strategy_settings["compression"] = GENERATE("none", "bits:1", "top_k:0.1", "power_sgd:1");
  task.options.strategy_settings["buffered"] = GENERATE(false, true);
  task.options.optimiser.name = GENERATE("momentum", "adam");
  task.options.schedule.initial_rate = 0.01;
  task.options.parallel_start_epoch = GENERATE(1, 2);
  const train::TrainingData source = train::open_training_data(task.options, 3);
  const train::Output with_models{.last_phase = false};
  std::vector<std::vector<float>> models(3);
  sim::run(sim::free_platform(3), 3, {}, [&](comm::Worker& worker) {
    models[static_cast<std::size_t>(worker.rank())] = train::train(worker, task.options, source, with_models).model;
  });
  REQUIRE_FALSE(models[0].empty());
  CHECK(models[1] == models[0]);
  CHECK(models[2] == models[0]);
}

TEST_CASE("newbob with restore ends with the model of its best epoch, in the checkpoint too", "[train]") {
  test::SmallTask task;
  task.options.schedule = {"newbob", 3.0, {{"newbob-restore", true}}};
  task.options.epochs = 8;
  task.options.strategy = "bmuf";
  metrics::RunFolder folder(task.file("newbob"), metrics::RunFolder::Existing::refuse);
  const train::Result result = task.simulate(2, sim::free_platform(2), {}, {&folder, nullptr});
  std::ifstream lines(folder.file("metrics.jsonl"));
  double rate = 3, best = INFINITY;
  bool fell = false;
  for (std::string line; std::getline(lines, line);) {
    const auto record = core::Json::parse(line);
    fell = fell || record["learning_rate"].get<double>() < rate;
    best = std::min(best, record["valid_loss"].get<double>());
  }
  CHECK(fell);
  CHECK(result.valid.loss == best);
  const train::Checkpoint checkpoint = train::read_checkpoint(folder.file("checkpoint.h5"));
  CHECK(train::parameters_sha256(checkpoint.parameters) == result.parameters_sha256);
}

TEST_CASE("cosine changes the rate within a block", "[train]") {
  test::SmallTask task;
  task.options.strategy = GENERATE("sgd", "data_parallel", "bmuf");
  const int workers = task.options.strategy == "sgd" ? 1 : 2;
  task.options.blocks = 1;
  task.options.epochs = 1;
  const std::string constant = task.simulate(workers).parameters_sha256;
  task.options.schedule.name = "cosine";
  CHECK(task.simulate(workers).parameters_sha256 != constant);
}

TEST_CASE("where the rate halves, slowmo carries half of its momentum over, and bmuf all of it", "[train]") {
  test::SmallTask task;
  task.options.blocks = 1;
  task.options.epochs = 2;
  task.options.schedule = {"exponential", 0.1, {{"schedule-factor", 0.5}}};
  task.options.strategy = "slowmo";
  task.options.strategy_settings = {{"slow-momentum", 0.5}, {"slow-learning-rate", 1.0}};
  const std::string halved = task.simulate(2).parameters_sha256;
  task.options.strategy = "bmuf";
  task.options.strategy_settings = {{"bmuf-kind", "cbm"}, {"block-momentum", 0.25}, {"block-learning-rate", 1.0}};
  CHECK(task.simulate(2).parameters_sha256 == halved);
}

TEST_CASE("a rate per sample is a learning rate whose unit is the sample", "[train]") {
  test::SmallTask task;
  task.options.strategy = "data_parallel";
  task.options.schedule.initial_rate = 0.002;
  task.options.rate_per = "sample";
  const std::string in_words = task.simulate(2).parameters_sha256;
  task.options.schedule.initial_rate = 1;
  task.options.rate_per = "minibatch";
  task.options.rate_per_sample = 0.002;
  train::settle_rate(task.options);
  CHECK(task.simulate(2).parameters_sha256 == in_words);
}

TEST_CASE("slowmo takes the same rate on workers with different numbers of minibatches", "[train]") {
  test::SmallTask task;
  task.options.strategy = "slowmo";
  task.options.schedule.name = "cosine";
  task.options.blocks = 1;
  task.options.minibatch = 306;  // the splits have 306 and 307 samples
  std::set<std::string> models;
  for (const char* collective : {"ring", "butterfly", "tree"}) {
    test::give(task.options, "collective", collective);
    models.insert(task.simulate(2).parameters_sha256);
  }
  CHECK(models.size() == 1);
}

TEST_CASE("after newbob has gone back, all workers go on from that model, and the local rule begins anew", "[train]") {
  test::SmallTask task;
  task.options.blocks = 1;  // whose order is that of every epoch
  task.options.strategy = GENERATE("sgd", "data_parallel");
  const int workers = task.options.strategy == "sgd" ? 1 : 3;
  task.options.splits = 1;
  task.options.optimiser.name = GENERATE("momentum", "adam");
  const double rate = task.options.optimiser.name == "momentum" ? 5 : 0.5;
  metrics::RunFolder first(task.file("first"), metrics::RunFolder::Existing::refuse);
  metrics::RunFolder all(task.file("all"), metrics::RunFolder::Existing::refuse);
  task.options.schedule = {"newbob", rate, {{"schedule-factor", 0.02}, {"newbob-restore", true}}};
  task.options.epochs = 3;  // the second does harm
  const train::Result back = task.simulate(workers, sim::free_platform(workers), {}, {.folder = &all});
  const auto records = test::records_of(all);
  REQUIRE(records.size() == 3);
  REQUIRE(records[1]["valid_loss"] > records[0]["valid_loss"]);
  REQUIRE(records[2]["valid_loss"] < records[0]["valid_loss"]);
  task.options.epochs = 1;
  task.simulate(workers, sim::free_platform(workers), {}, {.folder = &first});
  task.options.init = first.file("checkpoint.h5");
  task.options.schedule = {.initial_rate = rate * 0.02};
  CHECK(task.simulate(workers).parameters_sha256 == back.parameters_sha256);
}

TEST_CASE("a partition for another number of workers is refused", "[train]") {
  test::SmallTask task;
  task.options.strategy = "bmuf";
  task.options.splits = 3;
  CHECK_THROWS_WITH(task.simulate(2), contains_text("2 workers need 2 splits, not 3"));
}

TEST_CASE("a model that does not fit the data is refused", "[train]") {
  test::SmallTask task;
  task.options.model = "9-12-6";
  CHECK_THROWS_WITH(task.simulate(1),
                    contains_text("has 9 inputs and 6 outputs") && contains_text("8 features and 6 classes"));
}

TEST_CASE("a damaged checkpoint is recognised", "[train]") {
  test::SmallTask task;
  const std::string path = task.file("c.h5");
  train::write_checkpoint(path, {"8-12-6", "abc", 3, std::vector<float>(1000, 1.f)});
  CHECK(train::read_checkpoint(path).parameters.size() == 1000);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-100, std::ios::end);
  file.put(7);
  file.close();
  CHECK_THROWS_AS(train::read_checkpoint(path), core::ConfigError);
  CHECK_THROWS_WITH(train::read_checkpoint(task.options.data), contains_text("not a Paragrad checkpoint"));
  CHECK_THROWS_AS(train::read_checkpoint(task.file("missing.h5")), core::ConfigError);
}

TEST_CASE("a checkpoint of a later format is refused, and the version it has is named", "[train]") {
  test::SmallTask task;
  const std::string path = task.file("c.h5");
  train::write_checkpoint(path, {"8-12-6", "abc", 3, std::vector<float>(10, 1.f)});
  auto file = data::Hdf5File::revise(path);
  file.set_count("/", "version", 1000);
  file.finish();
  CHECK_THROWS_WITH(train::read_checkpoint(path), contains_text("version 1000"));
}
