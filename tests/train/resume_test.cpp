#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "data/hdf5_file.hpp"
#include "support.hpp"
#include "train/state/progress_file.hpp"
#include "train/state/saved_state.hpp"
#include "train/state/state_store.hpp"

using namespace paragrad;

namespace {

/// Nodes on which computing and talking take time, so that one can die on the way.
struct Case {
  std::string strategy;
  std::string compression = "none";
  bool buffered = false;
  std::string optimiser = "momentum";
  bool reset = true;
  bool balance = false;
  bool search = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.strategy << " " << c.compression << " " << c.optimiser;
}

void configure(train::TrainingOptions& options, const Case& c) {
  options.strategy = c.strategy;
  test::give(options, "compression", c.compression);
  test::give(options, "buffered", c.buffered);
  test::give(options, "reset-local-momentum", c.reset);
  options.balance = c.balance;
  options.minibatch_search = {.enabled = c.search, .largest = 64, .samples = 200};
  options.optimiser.name = c.optimiser;
  options.epochs = 3;
}

bool is_time(const std::string& name) { return name.ends_with("_s") || name == "exposed"; }

/// Apart from its times, which are longer by the writing of states, and do not tell what was trained twice.
void check_equal(const core::Json& record, const core::Json& expected) {
  REQUIRE(record.size() == expected.size());
  for (const auto& [name, value] : expected.items()) {
    CAPTURE(name);
    if (is_time(name))
      CHECK(record[name].get<double>() == Approx(value.get<double>()).epsilon(0.2));
    else
      CHECK(record[name] == value);
  }
}

/// Worker 1 dies at this time; says whether the training ended because of it.
bool dies(const test::SmallTask& task, double at_s, const train::Output& output) {
  sim::Platform platform = test::slow_cluster(3);
  platform.faults.push_back({.at_s = at_s, .kind = sim::Platform::Fault::Kind::worker, .id = 1});
  try {
    task.simulate(3, platform, {}, output);
  } catch (const comm::Failure&) {
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a training that dies on the way resumes to the same bits, whenever and however often", "[train]") {
  const std::vector<Case> cases{{"data_parallel", "bits:1"},
                                {"data_parallel", "bits:4", true},
                                {"data_parallel", "none", true, "nesterov"},
                                {"bmuf"},
                                {"bmuf", "none", false, "nesterov", false},
                                {"model_averaging", "none", false, "momentum", false},
                                {"post_local_sgd", "bits:1"},
                                {"data_parallel", "top_k:0.1", true},
                                {"data_parallel", "power_sgd:1"},
                                {"slowmo"},
                                {"diloco"},
                                {"bmuf_adam", "none", false, "adam"},
                                {"data_parallel", "none", false, "adamw"},
                                {"bmuf", "none", false, "momentum", true, true},
                                {"bmuf", "none", false, "momentum", true, false, true}};
  const std::size_t number = GENERATE_COPY(range(std::size_t{0}, cases.size()));
  const Case& c = cases[number];
  CAPTURE(c);
  test::SmallTask task;
  configure(task.options, c);
  // One schedule gives up epochs and begins anew, the other keeps all. Every case meets both; they differ in how often it is
  // validated and saved.
  const optim::ScheduleOptions newbob{"newbob", 0.2, {{"newbob-improvement", 0.2}, {"newbob-restore", true}}},
      exponential{"exponential", 0.2};
  const bool restarts = GENERATE(true, false), even = number % 2 == 0;
  const optim::ScheduleOptions& schedule = restarts ? newbob : exponential;
  const int validations = even ? 1 : 2;
  const std::size_t every = restarts == even ? 1 : 3;
  task.options.schedule = schedule;
  task.options.validations = validations;
  task.options.keep_best = validations > 1;
  metrics::RunFolder undisturbed(task.file("whole"), metrics::RunFolder::Existing::refuse);
  const train::Result whole = task.simulate(3, test::slow_cluster(3), {}, {.folder = &undisturbed});
  const std::string state = task.file("run/state");
  const auto open_folder = [&] {
    using enum metrics::RunFolder::Existing;
    return metrics::RunFolder(task.file("run"), train::StateStore::saved_phase(state) ? continue_it : replace);
  };
  const auto output = [&](metrics::RunFolder& folder) {
    return train::Output{.folder = &folder, .state_folder = state, .state_every_blocks = every};
  };
  for (const double share : {0.35, 0.3, 0.2}) {
    auto folder = open_folder();
    CHECK(dies(task, share * whole.training_s, output(folder)));
  }
  if (every == 1) CHECK(train::StateStore::saved_phase(state));
  auto folder = open_folder();
  const train::Result resumed = task.simulate(3, test::slow_cluster(3), {}, output(folder));
  CHECK(resumed.parameters_sha256 == whole.parameters_sha256);
  CHECK(resumed.samples == whole.samples);
  CHECK(resumed.train.loss == whole.train.loss);
  CHECK(resumed.train.error == whole.train.error);
  CHECK(resumed.valid.loss == whole.valid.loss);
  CHECK(resumed.valid.error == whole.valid.error);
  CHECK(resumed.test.loss == whole.test.loss);
  CHECK(resumed.epochs == whole.epochs);
  CHECK(resumed.strategy == whole.strategy);
  CHECK(resumed.training_s == Approx(whole.training_s).epsilon(0.1));
  CHECK(resumed.times.optimise_s == Approx(whole.times.optimise_s).epsilon(0.1));
  CHECK(resumed.times.aggregate_s == Approx(whole.times.aggregate_s).epsilon(0.1));
  CHECK(resumed.times.validate_s == Approx(whole.times.validate_s).epsilon(0.1));
  CHECK(resumed.times.data_s == Approx(whole.times.data_s).epsilon(0.1));
  const auto records = test::records_of(folder), expected = test::records_of(undisturbed);
  REQUIRE(expected.size() == 3 * static_cast<std::size_t>(task.options.validations));
  REQUIRE(records.size() == expected.size());
  for (std::size_t i = 0; i < records.size(); ++i) check_equal(records[i], expected[i]);
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
  train::SavedState(state, *device).write(path, owner);
  CHECK_NOTHROW(train::SavedState::read(path, owner));
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
