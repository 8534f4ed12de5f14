// Training with a parameter server, whole runs on emulated workers.
#include <cmath>

#include "catch.hpp"
#include "comm/wrappers/group_worker.hpp"
#include "comm/wrappers/shrinking_worker.hpp"
#include "core/errors.hpp"
#include "strategies/parameter_server/link.hpp"
#include "support.hpp"
#include "train/state/checkpoint.hpp"
#include "train/state/state_store.hpp"

using namespace paragrad;

namespace {

struct AsyncTask : test::SmallTask {
  AsyncTask() {
    options.strategy = "async_sgd";
    options.momentum = 0.5;
  }

  /// Nodes where computing and talking take time.
  static sim::Platform cluster(int nodes) {
    sim::Platform platform = test::slow_cluster(nodes);
    platform.noise.rank_sigma = 0.1;
    platform.noise.step_sigma = 0.3;
    return platform;
  }

  int servers() const { return core::read_options<strategies::ServerOptions>(options.strategy_settings).servers; }

  train::Result run(int workers, const sim::Platform& platform, const sim::SimulationOptions& how = {},
                    const train::Output& given = {}) const {
    const bool computes = backend::make_device(how.device)->computes();
    const train::TrainingData source =
        computes ? train::open_training_data(options, workers) : train::imagine_training_data(options, workers);
    const train::Output output = test::resumable(given, options, source);
    train::Result result;
    sim::run(platform, workers + servers(), how, [&](comm::Worker& all_ranks) {
      if (all_ranks.rank() >= workers) return train::serve_with(options, all_ranks, workers);
      comm::GroupWorker group(all_ranks, 0, 1, workers);
      comm::ShrinkingWorker worker(group);
      try {
        const train::Result mine = train::train(worker, options, source, output);
        if (worker.rank() == 0) result = mine;
      } catch (const strategies::LeftOut&) {
        ++left_out;
      } catch (const strategies::ServerLost&) {
        if (worker.rank() == 0) throw;
        ++left_out;
      }
    });
    return result;
  }
  train::Result run(int workers) const { return run(workers, cluster(workers + servers())); }

  mutable int left_out = 0;  // workers that found that they were

  /// From now on runs keep the order of that of `workers` on `platform`.
  train::Result record(int workers, const sim::Platform& platform) {
    strategies::ServerContext& server = options.servers;
    server.record = file("order.txt");
    const train::Result result = run(workers, platform);
    server.replay = std::make_shared<const strategies::Orders>(strategies::read_orders(server.record));
    server.record.clear();
    return result;
  }
};

}  // namespace

TEST_CASE("one asynchronous worker is sgd, bit for bit, where its server has the same rule", "[train]") {
  AsyncTask task;
  task.options.optimiser.name = GENERATE("sgd", "nesterov", "adam", "adagrad", "lars");
  task.options.l2 = GENERATE(0., 0.01);
  task.options.strategy = "sgd";
  const train::Result alone = task.run(1);
  task.options.strategy = GENERATE("async_sgd", "bounded_staleness", "staleness_scaled");
  task.options.strategy_settings["servers"] = GENERATE(0, 1);
  const train::Result served = task.run(1);
  CHECK(served.parameters_sha256 == alone.parameters_sha256);
  CHECK(served.train.loss == alone.train.loss);
  CHECK(served.samples == alone.samples);
}

TEST_CASE("one asynchronous worker with momentum is sgd up to rounding", "[train]") {
  AsyncTask task;
  const train::Result served = task.run(1);
  task.options.strategy = "sgd";
  CHECK(served.valid.loss == Approx(task.run(1).valid.loss).epsilon(1e-4));
}

TEST_CASE("asynchronous workers process each sample once an epoch and learn the task", "[train]") {
  AsyncTask task;
  task.options.strategy =
      GENERATE("async_sgd", "bounded_staleness", "staleness_scaled", "lazy_sgd", "easgd", "backup_workers");
  task.options.strategy_settings["servers"] = GENERATE(0, 1);
  task.options.strategy_settings["work"] = GENERATE("own", "queue");
  task.options.epochs = 3;
  const train::Result result = task.run(3);
  CHECK(result.samples == 3 * 613);
  CHECK(result.valid.loss < 0.8 * std::log(6));  // that of a model that knows nothing
}

TEST_CASE("what an asynchronous run computes depends neither on host threads nor on the order of starting", "[train]") {
  AsyncTask task;
  task.options.strategy_settings["servers"] = GENERATE(0, 2);
  task.options.strategy_settings["prefetch"] = true;
  const sim::Platform platform = AsyncTask::cluster(5);
  const train::Result one = task.run(3, platform);
  const train::Result other = task.run(3, platform, {.host_threads = 3, .start_order = 5});
  CHECK(other.parameters_sha256 == one.parameters_sha256);
  CHECK(other.training_s == one.training_s);
  CHECK(other.strategy == one.strategy);
}

TEST_CASE("the order of a run can be repeated on any platform and with any rate", "[train]") {
  AsyncTask task;
  core::Settings& settings = task.options.strategy_settings;
  settings["servers"] = GENERATE(0, 2);
  settings["prefetch"] = GENERATE(false, true);
  settings["push-every"] = GENERATE(1u, 3u);
  settings["work"] = GENERATE("queue", "own");
  settings["server-transport"] = GENERATE("messages", "windows");
  const train::Result recorded = task.record(3, AsyncTask::cluster(5));

  sim::Platform other = AsyncTask::cluster(5);
  other.noise.seed = 77;
  other.faults.push_back({.kind = sim::Platform::Fault::Kind::worker, .id = 1, .factor = 0.2});  // a straggler
  const train::Result repeated = task.run(3, other);
  CHECK(repeated.parameters_sha256 == recorded.parameters_sha256);
  CHECK(repeated.valid.loss == recorded.valid.loss);
  CHECK(repeated.training_s > recorded.training_s);

  task.options.schedule.initial_rate /= 2;
  const train::Result slower = task.run(3, other);
  CHECK(slower.parameters_sha256 != recorded.parameters_sha256);
  CHECK(slower.strategy == recorded.strategy);  // the same staleness
}

TEST_CASE("an order that belongs to another number of minibatches cannot be kept", "[train]") {
  AsyncTask task;
  task.record(3, AsyncTask::cluster(3));
  task.options.minibatch = 40;
  CHECK_THROWS_AS(task.run(3), core::ConfigError);
}

TEST_CASE("a worker that is slow takes fewer splits from the queue, where its own share would hold up all", "[train]") {
  AsyncTask task;
  task.options.blocks = 12;
  sim::Platform platform = AsyncTask::cluster(3);
  platform.faults.push_back({.kind = sim::Platform::Fault::Kind::worker, .id = 2, .factor = 0.1});
  task.options.strategy_settings["work"] = "own";
  const double own_s = task.run(3, platform).training_s;
  task.options.strategy_settings["work"] = "queue";
  CHECK(task.run(3, platform).training_s < 0.5 * own_s);
}

TEST_CASE("parameters that travel while a minibatch is computed cost no time, and staleness", "[train]") {
  AsyncTask task;
  sim::Platform platform = AsyncTask::cluster(4);
  platform.noise = {};
  platform.leaf = {{3e-5, 1e9}, 1};
  task.options.strategy_settings["servers"] = 1;
  const train::Result waits = task.run(3, platform);
  task.options.strategy_settings["prefetch"] = true;
  const train::Result goes_on = task.run(3, platform);
  CHECK(goes_on.training_s < waits.training_s);
  const auto staleness = [](const train::Result& result) {
    for (const auto& [name, value] : result.strategy)
      if (name == "staleness_mean") return value;
    return std::nan("");
  };
  CHECK(staleness(goes_on) > staleness(waits));
}

TEST_CASE("an asynchronous run that is not computed takes the time of the one that is", "[train]") {
  AsyncTask task;
  task.options.strategy = GENERATE("async_sgd", "bounded_staleness", "easgd", "backup_workers");
  task.options.strategy_settings["servers"] = GENERATE(0, 1);
  const sim::Platform platform = AsyncTask::cluster(4);
  const train::Result computed = task.run(3, platform), timed = task.run(3, platform, {.device = "meta"});
  CHECK(timed.training_s == computed.training_s);
  CHECK(timed.samples == computed.samples);
  CHECK(timed.strategy == computed.strategy);
}

TEST_CASE("windows are refused, or not chosen, in a run that is not computed", "[train]") {
  AsyncTask task;
  core::Setting& transport = task.options.strategy_settings["server-transport"];
  transport = "windows";
  CHECK_THROWS_WITH(task.run(3, AsyncTask::cluster(4), {.device = "meta"}),
                    contains_text("without arithmetic has no data in its windows: choose"));
  transport = "auto";
  const double chosen_s = task.run(3, AsyncTask::cluster(4), {.device = "meta"}).training_s;
  transport = "messages";
  CHECK(chosen_s == task.run(3, AsyncTask::cluster(4), {.device = "meta"}).training_s);
}

TEST_CASE("an asynchronous run that dies is taken up at the end of its last epoch", "[train]") {
  AsyncTask task;
  task.options.strategy = GENERATE("async_sgd", "lazy_sgd", "easgd", "backup_workers");
  task.options.optimiser.name = GENERATE("momentum", "adagrad");
  task.options.strategy_settings["servers"] = GENERATE(0, 1);
  task.options.epochs = 4;
  task.options.schedule.name = "exponential";
  // Without noise the speeds of an epoch do not depend on what was before it.
  sim::Platform platform = AsyncTask::cluster(4);
  platform.noise = {};
  const train::Result whole = task.run(3, platform);
  const train::Output output{.state_folder = task.file("state"), .state_every_blocks = 1};
  sim::Platform deadly = platform;
  deadly.faults.push_back({.at_s = 0.6 * whole.training_s, .kind = sim::Platform::Fault::Kind::worker, .id = 0});
  CHECK_THROWS_AS(task.run(3, deadly, {}, output), comm::Failure);
  REQUIRE(train::StateStore::saved_phase(output.state_folder));
  const train::Result resumed = task.run(3, platform, {}, output);
  CHECK(resumed.samples == whole.samples);
  CHECK(resumed.valid.loss == Approx(whole.valid.loss).epsilon(0.02));  // the clock's fractions differ, so orders may
}

namespace {

double number(const train::Result& result, const std::string& wanted) {
  for (const auto& [name, value] : result.strategy)
    if (name == wanted) return value;
  return 0;
}

sim::Platform::Fault death(int worker, double at_s) {
  return {.at_s = at_s, .kind = sim::Platform::Fault::Kind::worker, .id = worker};
}

}  // namespace

TEST_CASE("a worker that dies is left out, and the others train to the end", "[train]") {
  AsyncTask task;
  core::Settings& settings = task.options.strategy_settings;
  task.options.strategy = GENERATE("async_sgd", "bounded_staleness", "easgd", "backup_workers");
  settings["servers"] = task.options.strategy == "backup_workers" ? GENERATE(0, 1) : GENERATE(1, 2);
  settings["work"] = GENERATE("queue", "own");
  settings["worker-timeout"] = 0.05;
  task.options.epochs = 3;
  const train::Result whole = task.run(4, AsyncTask::cluster(6));
  for (const double share : {0.1, 0.35, 0.5, 0.62, 0.85}) {
    sim::Platform platform = AsyncTask::cluster(6);
    platform.faults.push_back(death(2, share * whole.training_s));
    CAPTURE(task.options.strategy, task.servers(), settings["work"].text(), share);
    const train::Result result = task.run(4, platform);
    CHECK(number(result, "workers_lost") == 1);
    CHECK(number(result, "splits_lost") <= 2);  // the one in hand and the one after it
    CHECK(result.samples <= whole.samples);
    CHECK(result.samples > whole.samples / 2);
    CHECK(std::isfinite(result.test.loss));
  }
}

TEST_CASE("several workers may die, and then nobody but worker 0 is left", "[train]") {
  AsyncTask task;
  task.options.strategy_settings["servers"] = 2;
  task.options.strategy_settings["worker-timeout"] = 0.05;
  task.options.epochs = 3;
  const double whole_s = task.run(3, AsyncTask::cluster(5)).training_s;
  sim::Platform platform = AsyncTask::cluster(5);
  platform.faults = {death(1, 0.3 * whole_s), death(2, GENERATE(0.3, 0.4, 0.7) * whole_s)};
  const train::Result result = task.run(3, platform);
  CHECK(number(result, "workers_lost") == 2);
  CHECK(std::isfinite(result.test.loss));
}

TEST_CASE("a worker that was asleep too long finds that it was left out", "[train]") {
  AsyncTask task;
  task.options.strategy_settings["servers"] = 1;
  task.options.strategy_settings["worker-timeout"] = 0.05;
  const double whole_s = task.run(3, AsyncTask::cluster(4)).training_s;
  sim::Platform platform = AsyncTask::cluster(4);
  platform.faults.push_back(death(1, 0.2 * whole_s));
  platform.faults.back().duration_s = GENERATE(0.055, 0.3);
  const train::Result result = task.run(3, platform);
  CHECK(number(result, "workers_lost") == 1);
  CHECK(task.left_out == 1);
}

TEST_CASE("a server that dies ends the run with a message and a checkpoint of what worker 0 has", "[train]") {
  AsyncTask task;
  task.options.strategy_settings["servers"] = GENERATE(0, 1, 2);
  task.options.strategy_settings["prefetch"] = GENERATE(false, true);
  task.options.strategy_settings["worker-timeout"] = 0.05;
  metrics::RunFolder folder(task.file("run"), metrics::RunFolder::Existing::refuse);
  const double whole_s = task.run(3, AsyncTask::cluster(5)).training_s;
  sim::Platform platform = AsyncTask::cluster(5);
  platform.faults.push_back(death(task.servers() == 0 ? 2 : 3, GENERATE(0.2, 0.6) * whole_s));
  CHECK_THROWS_WITH(task.run(3, platform, {}, {.folder = &folder}), contains_text("server "));
  CHECK(train::read_checkpoint(folder.file("checkpoint.h5")).parameters.size() == 8 * 12 + 12 + 12 * 6 + 6);
}

TEST_CASE("the end of worker 0, which leads, ends the run with a message", "[train]") {
  AsyncTask task;
  task.options.strategy_settings["servers"] = 1;
  task.options.strategy_settings["worker-timeout"] = 0.05;
  const double whole_s = task.run(3, AsyncTask::cluster(4)).training_s;
  sim::Platform platform = AsyncTask::cluster(4);
  platform.faults.push_back(death(0, 0.3 * whole_s));
  CHECK_THROWS_WITH(task.run(3, platform), contains_text("worker 0, which leads the training, is gone"));
}
