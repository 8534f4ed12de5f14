#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "catch.hpp"
#include "comm/compression/gradient_sum.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "data/hdf5_file.hpp"
#include "optim/local_optimiser.hpp"
#include "optim/schedule.hpp"
#include "strategies/strategy.hpp"
#include "support.hpp"
#include "train/state/checkpoint.hpp"
#include "train/state/progress_file.hpp"
#include "train/state/saved_state.hpp"
#include "train/state/state_store.hpp"

using namespace paragrad;

namespace {

struct Case {
  std::string strategy;
  std::string compression = "none";
  bool buffered = false;
  std::string optimiser = "momentum";
  bool reset = true;
  bool balance = false;
  bool search = false;
  std::string schedule = "exponential";

  int workers() const { return strategy == "sgd" ? 1 : 3; }
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.strategy << " " << c.compression << " " << c.optimiser << " " << c.schedule;
}

/// Settings with which each schedule changes the rate within three epochs; newbob gives up epochs and begins anew.
core::Settings settings_of(const std::string& schedule) {
  if (schedule == "newbob") return {{"newbob-improvement", 0.2}, {"newbob-restore", true}};
  if (schedule == "table") return {{"schedule-rates", std::string("0.2,0.1,0.05")}};
  if (schedule == "multi_step") return {{"schedule-milestones", std::string("1,2")}};
  return {};
}

void configure(train::TrainingOptions& options, const Case& c) {
  options.strategy = c.strategy;
  test::give(options, "compression", c.compression);
  test::give(options, "outer-compression", c.compression);
  test::give(options, "update-statistics", true);
  test::give(options, "buffered", c.buffered);
  test::give(options, "reset-local-momentum", c.reset);
  test::give(options, "fragment-cut", "packed");
  test::give(options, "outer-delay", std::size_t{100});  // so that a fragment is always under way when a state is saved
  options.balance = c.balance;
  options.minibatch_search = {.enabled = c.search, .largest = 64, .samples = 200};
  options.optimiser.name = c.optimiser;
  options.schedule = {c.schedule, 0.2, settings_of(c.schedule)};
  options.epochs = 3;
}

std::vector<std::string> names_in(const core::CatalogueInfo& catalogue) {
  std::vector<std::string> names;
  for (const core::EntryInfo& entry : catalogue.entries) names.push_back(entry.name + entry.example);
  return names;
}

/// Each strategy without servers with each compression, optimiser and schedule: of row k the k-th.
std::vector<Case> rows_of_the_catalogues() {
  const std::vector<std::string> compressions = names_in(comm::compression_catalogue()),
                                 optimisers = names_in(optim::optimiser_catalogue()),
                                 schedules = names_in(optim::schedule_catalogue());
  std::vector<Case> rows;
  for (const strategies::StrategyEntry& strategy : strategies::strategies())
    for (std::size_t k = 0; !strategy.has_servers && k < optimisers.size(); ++k)
      rows.push_back({.strategy = strategy.info.name,
                      .compression = compressions[k % compressions.size()],
                      .optimiser = optimisers[k],
                      .schedule = schedules[k % schedules.size()]});
  return rows;
}

bool is_time(const std::string& name) { return name.ends_with("_s") || name == "exposed"; }

/// Apart from its times, which are longer by the writing of states, and do not tell what was trained twice. exposed: see
/// check_resumed.
void check_equal(const core::Json& record, const core::Json& expected, bool exposed) {
  REQUIRE(record.size() == expected.size());
  for (const auto& [name, value] : expected.items()) {
    CAPTURE(name);
    if (is_time(name))
      CHECK(record[name].get<double>() == Approx(value.get<double>()).epsilon(exposed ? 0.5 : 0.2));
    else
      CHECK(record[name] == value);
  }
}

/// A worker dies at this time, if the training has not ended before.
std::optional<train::Result> train_until(const test::SmallTask& task, int workers, double at_s,
                                         const train::Output& output) {
  sim::Platform platform = test::slow_cluster(workers);
  platform.faults.push_back({.at_s = at_s, .kind = sim::Platform::Fault::Kind::worker, .id = workers / 2});
  try {
    return task.simulate(workers, platform, {}, output);
  } catch (const comm::Failure&) {
    return std::nullopt;
  }
}

std::set<std::string> names_of_states(const std::string& folder) {
  std::set<std::string> names;
  if (!std::filesystem::exists(folder)) return names;
  for (const auto& file : std::filesystem::directory_iterator(folder)) names.insert(file.path().filename());
  return names;
}

/// Weights and everything that is reported. exposed: saving waited for exchanges that nothing else would have waited for.
void check_resumed(const train::Result& resumed, const train::Result& whole, bool exposed) {
  CHECK(resumed.parameters_sha256 == whole.parameters_sha256);
  CHECK(resumed.samples == whole.samples);
  CHECK(resumed.train.loss == whole.train.loss);
  CHECK(resumed.train.error == whole.train.error);
  CHECK(resumed.valid.loss == whole.valid.loss);
  CHECK(resumed.valid.error == whole.valid.error);
  CHECK(resumed.test.loss == whole.test.loss);
  CHECK(resumed.epochs == whole.epochs);
  CHECK(resumed.strategy == whole.strategy);
  CHECK(resumed.training_s == Approx(whole.training_s).epsilon(exposed ? 0.5 : 0.1));
  CHECK(resumed.times.optimise_s == Approx(whole.times.optimise_s).epsilon(0.1));
  CHECK(resumed.times.aggregate_s == Approx(whole.times.aggregate_s).epsilon(0.1));
  CHECK(resumed.times.validate_s == Approx(whole.times.validate_s).epsilon(0.1));
  CHECK(resumed.times.data_s == Approx(whole.times.data_s).epsilon(0.1));
}

/// Trains once undisturbed, and once so that every session dies soon after it has saved its first state.
void check_that_it_resumes(const test::SmallTask& task, int workers, std::size_t every) {
  metrics::RunFolder undisturbed(task.file("whole"), metrics::RunFolder::Existing::refuse);
  const train::Result whole = task.simulate(workers, test::slow_cluster(workers), {}, {.folder = &undisturbed});
  const std::string state = task.file("run/state");
  const double block_s = whole.training_s / static_cast<double>(3 * task.options.blocks);
  const double lives_s = (static_cast<double>(every) + 0.4) * block_s;
  double longer = 1;  // until it gets to a state: a search for a minibatch, or a validation, takes more time than a block
  std::optional<train::Result> resumed;
  for (int deaths = 0; !resumed; ++deaths) {
    REQUIRE(deaths < 60);
    using enum metrics::RunFolder::Existing;
    metrics::RunFolder folder(task.file("run"), train::StateStore::saved_phase(state) ? continue_it : replace);
    const std::set<std::string> before = names_of_states(state);
    resumed = train_until(task, workers, longer * lives_s,
                          {.folder = &folder, .state_folder = state, .state_every_blocks = every});
    longer = names_of_states(state) == before ? 1.3 * longer : 1;
    if (!resumed) continue;
    CHECK(deaths >= (every == 1 ? 6 : 2));
    const bool exposed = strategies::strategy_entry(task.options.strategy).replicas_differ;
    check_resumed(*resumed, whole, exposed);
    CHECK(train::parameters_sha256(train::read_checkpoint(folder.file("checkpoint.h5")).parameters) ==
          whole.parameters_sha256);
    const auto records = test::records_of(folder), expected = test::records_of(undisturbed);
    REQUIRE(expected.size() == 3 * static_cast<std::size_t>(task.options.validations));
    REQUIRE(records.size() == expected.size());
    for (std::size_t i = 0; i < records.size(); ++i) check_equal(records[i], expected[i], exposed);
  }
}

}  // namespace

TEST_CASE("trainings with anything in the catalogues die in every block and resume to the same bits", "[train]") {
  const std::vector<Case> rows = rows_of_the_catalogues();
  std::set<std::string> trained;
  for (std::size_t number = 0; number < rows.size(); ++number) {
    const Case& c = rows[number];
    CAPTURE(c);
    test::SmallTask task;
    configure(task.options, c);
    task.options.schedule.warm_up_epochs = number % 2 == 1 ? 1.5 : 0;
    task.options.validations = number % 3 == 2 ? 2 : 1;
    task.options.ema_decay = number % 5 == 4 ? 0.6 : 0;
    task.options.keep_best = task.options.validations > 1;
    try {
      check_that_it_resumes(task, c.workers(), 1);
    } catch (const core::ConfigError& refused) {
      UNSCOPED_INFO(c.strategy << " refuses " << c.optimiser << " or " << c.compression << ": " << refused.what());
      continue;
    }
    trained.insert({"strategy " + c.strategy, "optimiser " + c.optimiser, "schedule " + c.schedule});
    if (task.options.strategy_settings.contains("compression")) trained.insert("compression " + c.compression);
  }
  std::set<std::string> all;
  for (const Case& c : rows)
    all.insert(
        {"strategy " + c.strategy, "optimiser " + c.optimiser, "schedule " + c.schedule, "compression " + c.compression});
  CHECK(trained == all);
}

TEST_CASE("a training that dies on the way resumes to the same bits, however often it saves its state", "[train]") {
  const std::vector<Case> cases{{"data_parallel", "bits:4", true},
                                {"data_parallel", "none", true, "nesterov"},
                                {"data_parallel", "top_k:0.1", true},
                                {"data_parallel", "partial:3", true},
                                {"bmuf", "none", false, "nesterov", false},
                                {"model_averaging", "none", false, "momentum", false},
                                {"bmuf", "none", false, "momentum", true, true},
                                {"bmuf", "none", false, "momentum", true, false, true}};
  Case c = cases[GENERATE_COPY(range(std::size_t{0}, cases.size()))];
  c.schedule = GENERATE("newbob", "exponential");
  CAPTURE(c);
  test::SmallTask task;
  configure(task.options, c);
  task.options.validations = c.schedule == "newbob" ? 1 : 2;
  task.options.keep_best = task.options.validations > 1;
  check_that_it_resumes(task, c.workers(), c.schedule == "newbob" ? 1 : 3);
}

TEST_CASE("a saved state that was damaged, or is of another format, is refused", "[train]") {
  const test::SmallTask task;
  const auto device = backend::make_device("cpu");
  const std::string path = task.file("state.h5");
  std::vector<float> values(1000, 1.5f);
  double number = 2.5;
  const train::StateOwner owner{"run", "0-1-0", 0, 2};
  core::StateView state;
  state.add("array", values, core::Rescale::equal);
  state.add("number", number, core::Rescale::equal);
  state.add("piece", std::span<float>(), {{3, 3}});  // of a worker that holds none of the array
  train::SavedState(state, *device).write(path, owner);
  CHECK_NOTHROW(train::SavedState::read(path, owner).restore(state, *device));
  SECTION("an element in the middle of an array") {
    const auto at = data::Hdf5File::open(path).array_info("/arrays/0").file_offset.value() + 500 * sizeof(float);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(1);
    file.close();
    CHECK_THROWS_WITH(train::SavedState::read(path, owner), contains_text("damaged"));
  }
  SECTION("a number") {
    auto file = data::Hdf5File::revise(path);
    file.write_rows("/numbers", 0, std::span<const double>(std::vector<double>{2.25}));
    file.finish();
    CHECK_THROWS_WITH(train::SavedState::read(path, owner), contains_text("damaged"));
  }
  SECTION("of another worker, number of workers, set or run") {
    const auto other = GENERATE_COPY(train::StateOwner{"run", "0-1-0", 1, 2}, train::StateOwner{"run", "0-1-0", 0, 3},
                                     train::StateOwner{"run", "0-2-0", 0, 2}, train::StateOwner{"another", "0-1-0", 0, 2});
    CHECK_THROWS_WITH(train::SavedState::read(path, other), contains_text("holds the state of worker 0 of 2"));
  }
  SECTION("a later format") {
    auto file = data::Hdf5File::revise(path);
    file.set_count("/", "version", 1000);
    file.finish();
    CHECK_THROWS_WITH(train::SavedState::read(path, owner), contains_text("version 1000"));
  }
}

TEST_CASE("a saved state does not go where an array has another length", "[train]") {
  const auto device = backend::make_device("cpu");
  std::vector<float> values(10), longer(11);
  core::StateView state, other;
  state.add("array", values, core::Rescale::equal);
  other.add("array", longer, core::Rescale::equal);
  CHECK_THROWS_AS(train::SavedState(state, *device).restore(other, *device), core::ConfigError);
}

TEST_CASE("a damaged pointer to a state, or note of progress, is no position before the first epoch", "[train]") {
  const test::TemporaryFolder folder;
  const auto point_to = [&](const std::string& set) {
    test::write_text(
        folder.file("latest.json"),
        R"({"version":2,"set":")" + set + R"(","phase":0,"workers":2,"run":{"options_sha256":"","data_sha256":"",)" +
            R"("partition_sha256":"","data_bytes":1,"data_modified_ns":1},"records":{"count":0,"sha256":""}})" + "\n");
  };
  point_to("0-3-2");
  CHECK(train::StateStore::saved_position(folder.path())->epoch == 3);
  for (const std::string set : {"0--5-2", "0-0-2", "0-", "0-99999999999-2", "0-3-2-1"}) {
    point_to(set);
    CHECK_THROWS_WITH(train::StateStore::saved_position(folder.path()), contains_text("damaged"));
  }
  point_to("0-3-2");
  test::write_text(folder.file("progress.txt"), "0 4 1 5\n");
  CHECK(train::lost_work(folder.path())->blocks == 4);
  test::write_text(folder.file("progress.txt"), "0 -2147483648 1 5\n");
  CHECK_FALSE(train::lost_work(folder.path()));
}

TEST_CASE("a saved array that the resumed run does not have is refused") {
  const auto device = backend::make_device("cpu");
  std::vector<float> kept{1, 2}, lost{3};
  core::StateView both, one;
  both.add("kept", kept, core::Rescale::own);
  both.add("lost", lost, core::Rescale::own);
  one.add("kept", kept, core::Rescale::own);
  const train::SavedState saved(both, *device);
  saved.restore(both, *device);
  CHECK_THROWS_WITH(saved.restore(one, *device), contains_text("has an array 'lost', which this run does not have"));
}
