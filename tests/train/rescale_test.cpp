// A run that goes on with another number of workers: what becomes of its state, and that all worlds agree on it.
#include "train/state/rescale.hpp"

#include <filesystem>
#include <numeric>

#include "catch.hpp"
#include "core/philox.hpp"
#include "hosting/hosting.hpp"
#include "support.hpp"

namespace {

using namespace paragrad;
using core::Rescale;
using test::SmallTask;

// ---- the rules ---------------------------------------------------------------------------------------------------------

/// A worker's memory with one part of each kind.
struct Parts {
  std::vector<float> equal, mean, sum, piece;
  std::vector<core::Range> pieces;
  double count = 0, mean_number = 0;

  core::StateView view() {
    core::StateView state;
    state.add("equal", equal, Rescale::equal);
    state.add("mean", mean, Rescale::mean);
    state.add("sum", sum, Rescale::sum);
    state.add("piece", piece, pieces);
    state.add("count", count, Rescale::sum);
    state.add("mean_number", mean_number, Rescale::mean);
    return state;
  }
};

constexpr std::size_t elements = 37;

/// Those of a worker, two pieces each: of the first 20 elements, and of the others.
Parts parts_of(int rank, int workers) {
  const auto part = [&](std::size_t length, std::size_t from) {
    const core::Range own = core::part_of(length, static_cast<std::size_t>(workers), static_cast<std::size_t>(rank));
    return core::Range{from + own.begin, from + own.end};
  };
  Parts parts;
  parts.pieces = {part(20, 0), part(elements - 20, 20)};
  parts.piece.resize(parts.pieces[0].size() + parts.pieces[1].size());
  parts.equal.resize(elements);
  parts.mean.resize(elements);
  parts.sum.resize(elements);
  return parts;
}

/// All workers' parts with numbers drawn for this case.
std::vector<Parts> drawn(int workers, std::uint64_t seed) {
  const core::RandomStream random(seed, core::Purpose::generator);
  std::uint64_t at = 0;
  std::vector<float> whole(elements), common(elements);
  for (float& value : whole) value = static_cast<float>(random.normal(at++));
  for (float& value : common) value = static_cast<float>(random.normal(at++));
  std::vector<Parts> all;
  for (int rank = 0; rank < workers; ++rank) {
    Parts parts = parts_of(rank, workers);
    std::size_t to = 0;
    for (const core::Range piece : parts.pieces)
      for (std::size_t i = piece.begin; i < piece.end; ++i) parts.piece[to++] = whole[i];
    parts.equal = common;
    for (float& value : parts.mean) value = static_cast<float>(random.normal(at++));
    for (float& value : parts.sum) value = static_cast<float>(random.normal(at++));
    parts.count = std::floor(1000 * random.uniform(at++));
    parts.mean_number = random.normal(at++);
    all.push_back(parts);
  }
  return all;
}

std::vector<Parts> rescaled_parts(std::vector<Parts> before, int now) {
  const auto device = backend::make_device("cpu");
  std::vector<Parts> result;
  for (int rank = 0; rank < now; ++rank) {
    Parts parts = parts_of(rank, now);
    const train::WorkerChange change{.before = static_cast<int>(before.size()), .now = now, .rank = rank};
    const auto read = [&](int worker) {
      return train::SavedState(before[static_cast<std::size_t>(worker)].view(), *device);
    };
    train::rescaled(parts.view(), change, read).restore(parts.view(), *device);
    result.push_back(parts);
  }
  return result;
}

std::vector<float> whole_of(const std::vector<Parts>& all) {
  std::vector<float> whole(elements);
  for (const Parts& parts : all) {
    std::size_t from = 0;
    for (const core::Range piece : parts.pieces)
      for (std::size_t i = piece.begin; i < piece.end; ++i) whole[i] = parts.piece[from++];
  }
  return whole;
}

double total(const std::vector<Parts>& all, std::size_t element) {
  return std::accumulate(all.begin(), all.end(), 0.0,
                         [&](double sum, const Parts& parts) { return sum + static_cast<double>(parts.sum[element]); });
}

double count(const std::vector<Parts>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0, [](double sum, const Parts& parts) { return sum + parts.count; });
}

}  // namespace

TEST_CASE("each part of a state is rescaled by its rule, whatever the numbers of workers", "[train][state]") {
  const int before = GENERATE(range(1, 8)), now = GENERATE(1, 2, 3, 5, 8, 30);
  const std::vector<Parts> old = drawn(before, static_cast<std::uint64_t>(100 * before + now));
  const std::vector<Parts> result = rescaled_parts(old, now);
  CHECK(whole_of(result) == whole_of(old));
  CHECK(count(result) == count(old));
  for (const Parts& parts : result) {
    CHECK(parts.equal == old[0].equal);
    CHECK(parts.mean == result[0].mean);
    CHECK(parts.sum == result[0].sum);
    CHECK(parts.count == std::floor(parts.count));
  }
  for (std::size_t i = 0; i < elements; ++i) {
    CHECK(total(result, i) == Approx(total(old, i)).margin(1e-6));
    double mean = 0;
    for (const Parts& parts : old) mean += static_cast<double>(parts.mean[i]) / before;
    CHECK(static_cast<double>(result[0].mean[i]) == Approx(mean).margin(1e-6));
  }
}

TEST_CASE("what is equal at all workers is not changed by being averaged, nor by going back and forth", "[train][state]") {
  const int before = GENERATE(3, 5, 6, 7), now = GENERATE(2, 3, 11);
  std::vector<Parts> old = drawn(before, 7);
  for (Parts& parts : old) parts.mean = old[0].mean;
  const std::vector<Parts> back = rescaled_parts(rescaled_parts(old, now), before);
  for (std::size_t i = 0; i < old.size(); ++i) {
    CHECK(back[i].mean == old[0].mean);
    CHECK(back[i].equal == old[i].equal);
    CHECK(back[i].piece == old[i].piece);
  }
}

TEST_CASE("a part that belongs to a worker, or that was not saved completely, is not rescaled", "[train][state]") {
  const auto device = backend::make_device("cpu");
  std::vector<float> chains(4);
  core::StateView own;
  own.add("chains", chains, Rescale::own);
  const train::WorkerChange change{.before = 2, .now = 3, .rank = 0};
  const auto read = [&](int) { return train::SavedState(own, *device); };
  CHECK_THROWS_WITH(train::rescaled(own, change, read),
                    contains_text("from 2 to 3 workers: 'chains' belongs to each worker"));
  std::vector<float> half(2);
  core::StateView wanted, saved;
  wanted.add("model", chains, {{0, 4}});
  saved.add("model", half, {{0, 2}});
  CHECK_THROWS_WITH(train::rescaled(wanted, change, [&](int) { return train::SavedState(saved, *device); }),
                    contains_text("'model' was not saved completely"));
}

// ---- whole runs --------------------------------------------------------------------------------------------------------

namespace {

/// Trains until `states` states have been saved, and leaves the last one.
void begin(const SmallTask& task, int workers, int states, const std::string& folder) {
  train::Output output{.state_folder = folder, .state_every_blocks = 1};
  output.after_saving = [&states] {
    if (--states == 0) throw core::ConfigError("interrupted");
  };
  CHECK_THROWS_WITH(task.simulate(workers, sim::free_platform(workers), {}, output), "interrupted");
}

train::Output continuing(const SmallTask& task, const std::string& folder, const train::TrainingData& source) {
  train::Output output{.state_folder = folder, .rescales = true};
  output.run = train::identify_run("", source);
  output.resume_phase = train::saved_phase(folder, task.options, output.run, true);
  return output;
}

train::Result emulated(const SmallTask& task, int workers, const std::string& folder) {
  const train::TrainingData source = train::open_training_data(task.options, workers);
  const train::Output output = continuing(task, folder, source);
  train::Result result;
  sim::run(sim::free_platform(workers), workers, {}, [&](sim::EmulatedWorker& worker) {
    const train::Result mine = train::train(worker, task.options, {source, {}}, output);
    if (worker.rank() == 0) result = mine;
  });
  return result;
}

train::Result hosted(const SmallTask& task, int workers, const std::string& folder) {
  const train::TrainingData source = train::open_training_data(task.options, workers);
  const train::Output output = continuing(task, folder, source);
  train::Result result;
  hosting::run(workers, {.threads = 2}, [&](comm::Worker& worker) {
    const train::Result mine = train::train(worker, task.options, {source, {}}, output);
    if (worker.rank() == 0) result = mine;
  });
  return result;
}

struct Method {
  std::string strategy, optimiser;
  core::Settings settings;
};

}  // namespace

TEST_CASE("a run goes on with more or fewer workers, with the same result emulated and in real time", "[train][state]") {
  const Method method =
      GENERATE(values<Method>({{"model_averaging", "adam", {}},
                               {"bmuf", "nesterov", {}},
                               {"bmuf_adam", "adam", {}},
                               {"slowmo", "momentum", {{"update-statistics", true}}},
                               {"diloco", "adamw", {}},
                               {"streaming_diloco", "adamw", {{"outer-delay", 100}, {"fragment-cut", "packed"}}},
                               {"eager_diloco", "adamw", {}},
                               {"eager_diloco", "momentum", {{"eager", false}}},
                               {"noloco", "adamw", {}},
                               {"sparta", "adamw", {{"mask-share", 0.1}, {"mask", "cycle"}}},
                               {"fed_adam", "momentum", {}},
                               {"diloco", "adamw", {{"outer-compression", "statistical:2"}}},
                               {"diloco", "muon", {{"outer-compression", "top_k:0.2"}, {"gather-codes", true}}},
                               {"streaming_diloco", "adamw", {{"outer-compression", "e3m0"}, {"fragment-cut", "packed"}}},
                               {"post_local_sgd", "momentum", {}},
                               {"data_parallel", "adam", {{"buffered", true}}},
                               {"data_parallel", "momentum", {{"compression", "bits:1"}}},
                               {"data_parallel", "momentum", {{"compression", "top_k:0.2"}}},
                               {"data_parallel", "momentum", {{"compression", "power_sgd:2"}}}}));
  const auto [before, now] = GENERATE(values<std::pair<int, int>>({{4, 2}, {2, 5}}));
  CAPTURE(method.strategy, method.settings, before, now);
  SmallTask task;
  task.options.strategy = method.strategy;
  task.options.optimiser.name = method.optimiser;
  task.options.strategy_settings = method.settings;
  const auto folder = task.file("state"), copy = task.file("copy");
  begin(task, before, 2, folder);  // after two of four blocks
  std::filesystem::copy(folder, copy, std::filesystem::copy_options::recursive);
  const train::Result result = emulated(task, now, folder);
  CHECK(result.samples == 2 * 613);
  CHECK(result.parameters_sha256 == hosted(task, now, copy).parameters_sha256);
}

TEST_CASE("data-parallel training that is rescaled differs from the undisturbed one by rounding only", "[train][state]") {
  SmallTask task;
  task.options.strategy = "data_parallel";
  task.options.optimiser.name = "momentum";
  const train::Result whole = task.simulate(4);
  begin(task, 4, GENERATE(1, 3, 4, 6), task.file("state"));
  const train::Result rescaled = emulated(task, GENERATE(2, 3, 6), task.file("state"));
  CHECK(rescaled.valid.loss == Approx(whole.valid.loss).epsilon(1e-5));
  CHECK(rescaled.test.loss == Approx(whole.test.loss).epsilon(1e-5));
  CHECK(rescaled.samples == whole.samples);
}

TEST_CASE("a run that is rescaled while one worker trains alone ends like one that had the new number from the beginning",
          "[train][state]") {
  SmallTask task;
  task.options.strategy = GENERATE("model_averaging", "data_parallel");
  task.options.optimiser.name = GENERATE("momentum", "adam");
  task.options.epochs = 3;
  task.options.parallel_start_epoch = 3;
  const train::Result whole = task.simulate(2);
  begin(task, 4, GENERATE(1, 2), task.file("state"));  // after the first, the second epoch
  CHECK(emulated(task, 2, task.file("state")).parameters_sha256 == whole.parameters_sha256);
}

TEST_CASE("a state is rescaled within an epoch only if its blocks hold the same samples for both numbers of workers",
          "[train][state]") {
  SmallTask task;
  task.options.strategy = "bmuf";
  task.options.sync_period = 40;  // 4 blocks for 4 workers, 8 for 2
  const int states = GENERATE(1, 4);
  begin(task, 4, states, task.file("state"));
  if (states == 1)
    CHECK_THROWS_WITH(emulated(task, 2, task.file("state")), contains_text("cannot rescale within epoch 1: its 1 trained"));
  else
    CHECK(emulated(task, 2, task.file("state")).samples == 2 * 613);
}

TEST_CASE("a state that is rescaled within an epoch of sequences leaves out no sample and repeats none", "[train][state]") {
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SmallTask task;
    task.options.model = "8-lstm4-6";
    task.options.minibatch = 2;
    task.options.strategy = "model_averaging";
    task.options.seed = seed;
    begin(task, 2, 1, task.file("state"));
    try {
      const train::Result result = emulated(task, 7, task.file("state"));
      CHECK(result.samples == 2 * 613);
      ++accepted;
    } catch (const core::ConfigError& error) {
      CHECK_THAT(error.what(), contains_text("cannot rescale within epoch 1"));
      ++refused;
    }
  }
  CHECK(refused > 0);
  CHECK(accepted > 0);
}

TEST_CASE("what only several workers keep is not rescaled to or from a single one", "[train][state]") {
  SmallTask task;
  task.options.strategy = "bmuf";
  const auto [before, now] = GENERATE(values<std::pair<int, int>>({{3, 1}, {1, 3}}));
  begin(task, before, 1, task.file("state"));
  CHECK_THROWS_WITH(emulated(task, now, task.file("state")), contains_text("cannot rescale from"));
}

TEST_CASE("a learning rate that is given anew at rescaling holds from there on, under its schedule", "[train][state]") {
  SmallTask task;
  task.options.strategy = "model_averaging";
  task.options.epochs = 3;
  task.options.schedule.name = "exponential";
  const auto folder = task.file("state"), copy = task.file("copy");
  begin(task, 4, 5, folder);
  std::filesystem::copy(folder, copy, std::filesystem::copy_options::recursive);
  const train::Result same = emulated(task, 2, folder);
  task.options.schedule.initial_rate *= 2;
  CHECK(emulated(task, 2, copy).parameters_sha256 != same.parameters_sha256);
}
