#include <filesystem>

#include "catch.hpp"
#include "core/errors.hpp"
#include "support.hpp"
#include "train/state_store.hpp"

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
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.strategy << " " << c.compression << " " << c.optimiser;
}

void configure(train::Options& options, const Case& c) {
  options.strategy = c.strategy;
  options.strategy_options.compression.name = c.compression;
  options.strategy_options.buffered = c.buffered;
  options.strategy_options.reset_local_momentum = c.reset;
  options.balance = c.balance;
  options.optimiser.name = c.optimiser;
  options.sweeps = 3;
  options.schedule = {"newbob", 0.2, 0.5, 1, 0.2, true};
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

TEST_CASE("a training that dies on the way is taken up again to the same bits, whenever and however often", "[train]") {
  const Case c =
      GENERATE(Case{"data_parallel", "bits:1"}, Case{"data_parallel", "bits:4", true},
               Case{"data_parallel", "none", true, "nesterov"}, Case{"bmuf"}, Case{"bmuf", "none", false, "nesterov", false},
               Case{"model_averaging", "none", false, "momentum", false}, Case{"post_local_sgd", "bits:1"},
               Case{"data_parallel", "top_k:0.1", true}, Case{"data_parallel", "power_sgd:1"}, Case{"slowmo"},
               Case{"diloco"}, Case{"bmuf_adam", "none", false, "adam"}, Case{"data_parallel", "none", false, "adamw"},
               Case{"bmuf", "none", false, "momentum", true, true});
  CAPTURE(c);
  test::SmallTask task;
  configure(task.options, c);
  task.options.validations = GENERATE(1, 2);
  task.options.keep_best = task.options.validations > 1;
  const train::Result whole = task.simulate(3, test::slow_cluster(3));
  const std::size_t every = GENERATE(1u, 3u);
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
  CHECK(resumed.valid.loss == whole.valid.loss);
  CHECK(folder.records() == 3 * static_cast<std::size_t>(task.options.validations));
  CHECK_FALSE(std::filesystem::exists(state));
}
