// With equal samples it does not matter who computes a gradient, so every strategy has to end where one worker with the same
// updates does: whatever the optimiser, and however the training switches between strategies, numbers of workers, shares of
// a minibatch and sizes of an update. What an optimiser's state is a sum of changes at each of these switches.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "core/errors.hpp"
#include "data/writer.hpp"
#include "nn/graph.hpp"
#include "nn/model.hpp"
#include "optim/local_optimiser.hpp"
#include "support.hpp"
#include "train/step_sizes.hpp"

namespace paragrad::one_worker {
namespace {

constexpr std::array<float, 4> sample{1, 0.5f, -0.25f, 1};  // three features, and the input of the bias
constexpr double target = 2;
constexpr std::size_t samples = 192, blocks = 2, minibatch = 12;
constexpr int workers = 4;

void write_equal_samples(const std::string& path, std::size_t count) {
  data::DatasetInfo info;
  info.name = "equal";
  info.dim = 3;
  info.widths.targets = 1;
  data::DatasetWriter writer(path, info);
  for (const auto& [subset, rows] :
       {std::pair{data::Subset::train, count}, {data::Subset::valid, 2ul}, {data::Subset::test, 2ul}}) {
    std::vector<float> features, answers;
    for (std::size_t row = 0; row < rows; ++row) {
      features.insert(features.end(), sample.begin(), sample.begin() + 3);
      answers.push_back(static_cast<float>(target) + (row % 2 == 0 ? 1e-4f : -1e-4f));  // targets have to vary
    }
    writer.begin(subset, rows);
    writer.append(std::span<const float>(features), {}, {.targets = answers});
  }
  writer.finish();
}

/// A rule with a rate at which the weights move far enough to be compared, and so little that gradients stay about equal.
struct Rule {
  std::string name;
  double rate = 5e-5;
};

std::vector<Rule> rules() {
  std::vector<Rule> all;
  for (const core::EntryInfo& entry : optim::optimiser_catalogue().entries)
    all.push_back({entry.name, entry.name == "adadelta" ? 0.1 : entry.name == "lars" ? 1e-4 : 5e-5});
  return all;
}

struct EqualSamples : test::SmallTask {
  explicit EqualSamples(const Rule& rule = {"momentum"}) {
    write(samples);
    options.data = file("equal.h5");
    options.model = "3-1";
    options.loss = "squared_error";
    options.minibatch = minibatch;
    options.blocks = blocks;
    options.epochs = 2;
    options.optimiser.name = rule.name;
    if (rule.name == "lars") options.optimiser.settings["lars-trust"] = 1;
    options.schedule.initial_rate = rule.rate;
  }
  void write(std::size_t count) const { write_equal_samples(file("equal.h5"), count); }

  /// Nothing but the local optimiser shall move the model between two switches.
  void choose(const std::string& strategy) {
    options.strategy = strategy;
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, core::Setting>>{{"reset-local-momentum", false},
                                                                      {"block-momentum", 0},
                                                                      {"slow-momentum", 0},
                                                                      {"outer-momentum", 0},
                                                                      {"outer-learning-rate", 1},
                                                                      {"outer-delay", std::size_t{0}},
                                                                      {"fragments", std::size_t{1}},
                                                                      {"group-momentum", 0},
                                                                      {"group-rate", 1},
                                                                      {"lazy-threshold", 0},
                                                                      {"backup-workers", 0},
                                                                      {"local-start-epoch", 2}})
      test::give(options, name, value);
  }

  std::vector<float> initial() const {
    const nn::Graph graph = nn::make_graph(options.model);
    std::vector<float> weights(graph.model_size());
    graph.initialise(options.seed, weights);
    return weights;
  }

  /// The weights after the training, or what is left of it.
  std::vector<float> train(int count, train::Output output = {}, const sim::Platform* platform = nullptr) const {
    const train::TrainingData source = train::open_training_data(options, count);
    output.last_phase = false;  // its result then is the model
    if (!output.state_folder.empty()) {
      output.run = train::identify_run("", source);
      output.resume_phase = train::saved_phase(output.state_folder, options, output.run, output.rescales);
    }
    std::vector<float> weights;
    sim::run(platform != nullptr ? *platform : test::slow_cluster(count), count, {}, [&](sim::EmulatedWorker& worker) {
      const train::Result mine = train::train(worker, options, {source, {}}, output);
      if (worker.rank() == 0) weights = mine.model;
    });
    return weights;
  }

  /// Those of one worker that makes updates of so many samples each.
  std::vector<float> by_one_worker(const std::vector<std::size_t>& updates) const {
    const nn::Graph graph = nn::make_graph(options.model);
    std::vector<float> weights = initial();
    const auto device = backend::make_device("cpu");
    const auto rule = optim::make_optimiser(train::update_rule(options), *device, graph.layout(), true);
    const train::StepSizes sizes(options);
    for (const std::size_t count : updates) {
      double error = -target;
      for (std::size_t i = 0; i < sample.size(); ++i)
        error += static_cast<double>(weights[i]) * static_cast<double>(sample[i]);
      for (std::size_t i = 0; i < sample.size(); ++i)
        rule->gradients()[i] = static_cast<float>(static_cast<double>(count) * error) * sample[i];
      rule->begin_step();
      rule->update(*device, {0, weights.size()}, sizes.of(options.schedule.initial_rate, count), weights);
    }
    return weights;
  }

  /// Fails unless both have moved the initial weights alike.
  void compare(const std::vector<float>& weights, const std::vector<float>& expected) const {
    const std::vector<float> before = initial();
    double difference = 0, moved = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      difference = std::max(difference, std::abs(static_cast<double>(weights[i]) - static_cast<double>(expected[i])));
      moved = std::max(moved, std::abs(static_cast<double>(expected[i]) - static_cast<double>(before[i])));
    }
    CAPTURE(weights, expected, before);
    CHECK(moved > 1e-5);
    CHECK(difference < 0.02 * moved);
  }
};

using Updates = std::vector<std::size_t>;

void repeat(Updates& updates, std::size_t times, std::size_t count) { updates.insert(updates.end(), times, count); }

/// The updates of an epoch with `count` workers, as one worker sees them.
Updates updates_of_epoch(const std::string& strategy, std::size_t count, std::size_t push_every = 1) {
  const strategies::StrategyEntry& entry = strategies::strategy_entry(strategy);
  Updates updates;
  if (strategy == "backup_workers")
    repeat(updates, samples / minibatch / count, minibatch * count);
  else if (entry.has_servers)
    repeat(updates, samples / minibatch / push_every, minibatch * push_every);
  else if (entry.share == strategies::Share::minibatch)
    repeat(updates, samples / minibatch, minibatch);
  else
    repeat(updates, samples / minibatch / count, minibatch);
  return updates;
}

void append(Updates& updates, const Updates& more) { updates.insert(updates.end(), more.begin(), more.end()); }

/// Whether the strategy can be compared. easgd's centre follows each worker's distance from it, the rates of fed_adam and of
/// async_local_sgd's servers do not depend on the local one, and staleness_scaled makes shorter steps by intent; bmuf_adam
/// filters Adam's moments and no others.
bool is_comparable(const std::string& strategy, const std::string& optimiser) {
  if (strategy == "easgd" || strategy == "fed_adam" || strategy == "async_local_sgd" || strategy == "eager_diloco")
    return false;
  if (strategy == "bmuf_adam") return optimiser.starts_with("adam");
  const bool has_shards = strategies::strategy_entry(strategy).has_servers && strategy != "backup_workers";
  return !(has_shards && (optimiser == "lars" || optimiser == "muon"));  // which need whole matrices
}

int workers_of(const std::string& strategy) { return strategy == "sgd" || strategy == "staleness_scaled" ? 1 : workers; }

/// Calls check(strategy, rule) for all of both catalogues.
void for_all(const std::function<void(const std::string&, const Rule&)>& check) {
  int compared = 0;
  for (const strategies::StrategyEntry& entry : strategies::strategies())
    for (const Rule& rule : rules()) {
      if (!is_comparable(entry.info.name, rule.name)) continue;
      CAPTURE(entry.info.name, rule.name);
      check(entry.info.name, rule);
      ++compared;
    }
  CHECK(compared > 100);
}

}  // namespace

TEST_CASE("with equal samples every strategy and optimiser moves the model as one worker does, from the start",
          "[train][one-worker]") {
  for_all([](const std::string& strategy, const Rule& rule) {
    EqualSamples task(rule);
    task.choose(strategy);
    const int count = workers_of(strategy);
    Updates updates = updates_of_epoch(strategy, static_cast<std::size_t>(count));
    append(updates, updates_of_epoch(strategy, static_cast<std::size_t>(count)));
    task.compare(task.train(count), task.by_one_worker(updates));
  });
}

TEST_CASE("... and after a warm start", "[train][one-worker]") {
  for_all([](const std::string& strategy, const Rule& rule) {
    EqualSamples task(rule);
    task.choose(strategy);
    task.options.parallel_start_epoch = 2;
    const int count = workers_of(strategy);
    Updates updates = updates_of_epoch("sgd", 1);
    append(updates, updates_of_epoch(strategy, static_cast<std::size_t>(count)));
    task.compare(task.train(count), task.by_one_worker(updates));
  });
}

TEST_CASE("... and in minibatches that cannot be divided evenly", "[train][one-worker]") {
  for (const std::string strategy : {"data_parallel", "post_local_sgd"})
    for (const Rule& rule : rules()) {
      EqualSamples task(rule);
      task.choose(strategy);
      task.options.minibatch = 14;  // parts of 3 and 4 samples, then of 3
      Updates updates;
      for (std::size_t block = 0; block < 2 * blocks; ++block) {
        repeat(updates, 6, 14);
        repeat(updates, 1, 12);
      }
      CAPTURE(strategy, rule.name);
      task.compare(task.train(workers), task.by_one_worker(updates));
    }
}

TEST_CASE("... and when post_local_sgd goes local after a warm start, or at once, in micro-batches or with measured shares",
          "[train][one-worker]") {
  struct Case {
    int local_from, parallel_from;
    std::size_t micro_batch;
    bool balance;
  };
  const auto [local_from, parallel_from, micro_batch, balance] = GENERATE(values<Case>(
      {{1, 1, 0, false}, {1, 2, 0, false}, {3, 1, 2, false}, {3, 2, 0, true}, {2, 1, 0, true}, {1, 1, 2, true}}));
  CAPTURE(local_from, parallel_from, micro_batch, balance);
  sim::Platform platform = test::slow_cluster(workers);
  platform.faults = {{.at_s = 0, .kind = sim::Platform::Fault::Kind::worker, .id = 1, .factor = 0.5}};
  for (const Rule& rule : rules()) {
    EqualSamples task(rule);
    task.choose("post_local_sgd");
    task.options.epochs = 3;
    task.options.strategy_settings["local-start-epoch"] = local_from;
    task.options.parallel_start_epoch = parallel_from;
    task.options.micro_batch = micro_batch;
    task.options.balance = balance;
    Updates updates;
    for (int epoch = 0; epoch < 3; ++epoch) append(updates, updates_of_epoch("sgd", 1));
    CAPTURE(rule.name);
    task.compare(task.train(workers, {}, &platform), task.by_one_worker(updates));
  }
}

TEST_CASE("... and when a run goes on with another number of workers", "[train][one-worker]") {
  const int after = GENERATE(2, 6);
  for_all([&](const std::string& strategy, const Rule& rule) {
    if (strategies::strategy_entry(strategy).has_servers || strategy == "sgd") return;  // they have no other number
    EqualSamples task(rule);
    task.choose(strategy);
    test::give(task.options, "local-start-epoch", 1);
    train::Output output{.state_folder = task.file("state"), .state_every_blocks = 1};
    int states = static_cast<int>(blocks);  // of the first epoch
    output.after_saving = [&states] {
      if (--states == 0) throw core::ConfigError("interrupted");
    };
    CHECK_THROWS_WITH(task.train(workers, output), "interrupted");
    output.after_saving = nullptr;
    output.rescales = true;
    Updates updates = updates_of_epoch(strategy, workers);
    append(updates, updates_of_epoch(strategy, static_cast<std::size_t>(after)));
    if (after == 6 && strategies::strategy_entry(strategy).share == strategies::Share::block) {
      updates = updates_of_epoch(strategy, workers);  // splits of 16 samples: a minibatch and a short one
      for (std::size_t block = 0; block < blocks; ++block) append(updates, {12, 4});
    }
    CAPTURE(after);
    task.compare(task.train(after, output), task.by_one_worker(updates));
  });
}

TEST_CASE("... and with momentum as a time constant, whose updates have the samples of several minibatches",
          "[train][one-worker]") {
  const std::size_t push_every = GENERATE(1u, 2u, 8u);
  const bool unit_gain = GENERATE(false, true);
  CAPTURE(push_every, unit_gain);
  for_all([&](const std::string& strategy, const Rule& rule) {
    if (!optim::heeds_momentum(rule.name) || (unit_gain && optim::has_unit_gain(rule.name))) return;
    EqualSamples task(rule);
    task.choose(strategy);
    task.options.momentum = 0;
    task.options.momentum_time_constant = 60;
    task.options.unit_gain = unit_gain;
    const bool pushes = strategies::strategy_entry(strategy).has_servers && strategy != "backup_workers";
    if (!pushes && push_every > 1) return;
    const int count =
        push_every == 8 ? 2 : workers_of(strategy);  // splits of 48 samples: their last 4 minibatches wait for the next
    if (strategy == "staleness_scaled" && count > 1) return;
    test::give(task.options, "push-every", push_every);
    test::give(task.options, "fetch-every", push_every);
    Updates updates;
    for (int epoch = 0; epoch < 2; ++epoch)
      append(updates, updates_of_epoch(strategy, static_cast<std::size_t>(count), push_every));
    task.compare(task.train(count), task.by_one_worker(updates));
  });
}

TEST_CASE("... and when a larger minibatch is chosen on the way", "[train][one-worker]") {
  for (const Rule& rule : rules()) {
    EqualSamples task(rule);
    task.options.minibatch_search = {.enabled = true, .largest = 48, .margin_percent = 1e6, .samples = 96};
    task.choose("sgd");
    const std::vector<float> alone = task.train(1);
    task.choose(GENERATE("data_parallel", "post_local_sgd"));
    CAPTURE(task.options.strategy, rule.name);
    task.compare(task.train(workers), alone);
  }
}

}  // namespace paragrad::one_worker
