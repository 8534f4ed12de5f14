// Frames that the network sees with their neighbours, and splits of whole utterances.
#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "data/partition.hpp"
#include "data/writer.hpp"
#include "support.hpp"

using namespace paragrad;

namespace {

constexpr data::Context context{2, 1};

/// The window of a row, frame by frame.
std::vector<float> window(const data::Dataset& dataset, data::Subset subset, std::int64_t row, std::int64_t first,
                          std::int64_t last) {
  std::vector<float> window, frame(dataset.info().dim);
  for (std::int64_t at = row - 2; at <= row + 1; ++at) {
    dataset.decode(dataset.row(subset, static_cast<std::size_t>(std::clamp(at, first, last))), frame);
    window.insert(window.end(), frame.begin(), frame.end());
  }
  return window;
}

/// The frames of `path` in another file: once each with a context, or as windows that are stored.
void rewrite(const std::string& path, const std::string& out, bool splice_when_loading) {
  const auto dataset = data::Dataset::open(path);
  auto info = dataset->info();
  info.dim *= context.frames();
  if (splice_when_loading) info.context = context;
  data::DatasetWriter writer(out, info);
  for (const auto subset : {data::Subset::train, data::Subset::valid, data::Subset::test}) {
    writer.begin(subset, info.samples[static_cast<std::size_t>(subset)]);
    const auto offsets = dataset->offsets(subset);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      for (std::int64_t row = offsets[s]; row < offsets[s + 1]; ++row) {
        std::vector<float> features(dataset->info().dim);
        dataset->decode(dataset->row(subset, static_cast<std::size_t>(row)), features);
        if (!splice_when_loading) features = window(*dataset, subset, row, offsets[s], offsets[s + 1] - 1);
        const std::vector<std::int32_t> label{dataset->label(subset, static_cast<std::size_t>(row))};
        writer.append(std::span<const float>(features), std::span<const std::int32_t>(label));
      }
      writer.end_sequence();
    }
  }
  writer.finish();
}

}  // namespace

TEST_CASE("training on spliced frames ends in the weights of training on stored windows", "[train]") {
  test::SmallTask task;
  const std::string strategy = GENERATE("data_parallel", "bmuf");
  task.options.strategy = strategy;
  task.options.model = "32-12-6:sigmoid";
  std::vector<train::Result> results;
  for (const bool splice : {true, false}) {
    rewrite(task.file("task.h5"), task.file("windows.h5"), splice);
    task.options.data = task.file("windows.h5");
    results.push_back(task.simulate(3));
  }
  task.options.data = task.file("task.h5");  // frames without context
  task.options.context = "2+1";
  results.push_back(task.simulate(3));
  CHECK(results[0].parameters_sha256 == results[1].parameters_sha256);
  CHECK(results[0].parameters_sha256 == results[2].parameters_sha256);
  CHECK(results[0].test.error == results[1].test.error);
}

TEST_CASE("a run may look at fewer or other neighbours than its data file names", "[train]") {
  test::SmallTask task;
  const auto alone = task.simulate(1).parameters_sha256;
  rewrite(task.file("task.h5"), task.file("context.h5"), true);
  task.options.data = task.file("context.h5");
  task.options.context = "0+0";
  CHECK(task.simulate(1).parameters_sha256 == alone);
  task.options.context = "1+1";
  CHECK_THROWS_WITH(task.simulate(1), contains_text("24 features"));
  task.options.context = "five";
  CHECK_THROWS_WITH(task.simulate(1), contains_text("like 5+5"));
}

TEST_CASE("splits of whole utterances are trained on, and timed, as they are stored", "[train]") {
  test::SmallTask task;
  task.options.strategy = "bmuf";
  const auto dataset = data::Dataset::open(task.options.data);
  const auto without = task.simulate(3).parameters_sha256;
  data::Partition::of_utterances(dataset->offsets(data::Subset::train), 3, 4, task.options.seed).store(task.options.data);
  sim::Platform platform = sim::free_platform(3);
  platform.device = {1e12, 1e11, 0.7, 0.8, 3e-6};
  const auto computed = task.simulate(3, platform), timed = task.simulate(3, platform, {.device = "meta"});
  CHECK(computed.parameters_sha256 != without);
  CHECK(computed.samples == 2 * 613);
  CHECK(timed.training_s == computed.training_s);
}
