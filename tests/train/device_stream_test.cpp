// Samples that reach a device split by split, while it computes on the split before.
#include "backend/kernels/copy.hpp"
#include "catch.hpp"
#include "data/generate.hpp"
#include "data/writer.hpp"
#include "temporary_folder.hpp"
#include "tests/backend/gpu.hpp"
#include "train/input/worker_input.hpp"

using namespace paragrad;

namespace {

constexpr std::size_t split_count = 5;

/// The same samples with three targets each.
void replace_labels(const std::string& from, const std::string& to) {
  const auto dataset = data::Dataset::open(from);
  data::DatasetInfo info = dataset->info();
  info.classes = 0;
  info.widths.targets = 3;
  data::DatasetWriter writer(to, info);
  for (const auto subset : {data::Subset::train, data::Subset::valid, data::Subset::test}) {
    const auto offsets = dataset->offsets(subset);
    writer.begin(subset, info.samples[static_cast<std::size_t>(subset)]);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      for (auto row = static_cast<std::size_t>(offsets[s]); row < static_cast<std::size_t>(offsets[s + 1]); ++row) {
        std::vector<float> features(info.dim);
        dataset->decode(dataset->row(subset, row), features);
        const std::vector<float> targets{static_cast<float>(dataset->label(subset, row)), static_cast<float>(row), -1};
        writer.append(std::span<const float>(features), {}, {.targets = targets});
      }
      writer.end_sequence();
    }
  }
  writer.finish();
}

train::TrainingData open(const test::TemporaryFolder& folder, const std::string& context, const std::string& chunks,
                         bool targets = false) {
  data::GenerateOptions task;
  task.out = folder.file("task.h5");
  task.samples = 413;
  task.valid = task.test = 20;
  task.dim = 4;
  task.classes = 3;
  task.sequence_length = 20;
  data::generate(task);
  train::TrainingOptions options;
  options.data = task.out;
  if (targets) {
    replace_labels(task.out, options.data = folder.file("targets.h5"));
    options.loss = "squared_error";
  }
  options.context = context;
  if (!chunks.empty()) options.chunks = chunks;
  options.model = chunks.empty() ? (context == "2+1" ? "16-3" : "4-3") : "4-lstm2-3";
  options.blocks = split_count;
  options.strategy = "bmuf";
  return train::open_training_data(options, 1);
}

/// All that a source's samples are, minibatch by minibatch, through the device's memory. What is looked at is a copy that
/// the device was told to make before the next split came.
std::vector<float> seen(const train::TrainingData& source, const std::string& name, std::size_t minibatch) {
  const auto device = backend::make_device(name);
  std::vector<core::Arena> copies;
  {
    const auto samples = train::WorkerInput(source).open(*device, data::Subset::train, minibatch);
    const auto split = [&](std::size_t block) {
      const auto rows = source.partition->split(block, 0);
      return data::SampleList{rows.size(), {rows.begin(), rows.end()}};
    };
    samples->prefetch(split(0));
    for (std::size_t block = 0; block < split_count; ++block) {
      samples->advance();
      if (block + 1 < split_count) samples->prefetch(split(block + 1));
      for (auto batch = samples->next(minibatch); batch.size() > 0; batch = samples->next(minibatch)) {
        for (const std::span<const float> values : {batch.features, batch.columns.targets}) {
          if (values.empty()) continue;
          copies.push_back(device->allocate(values.size()));
          device->run(backend::Copy{values, copies.back().span()});
        }
      }
    }
    device->finish();
  }
  std::vector<float> all;
  for (const core::Arena& copy : copies) {
    std::vector<float> batch(copy.size());
    device->transfer(std::span<const float>(copy.span()), std::span(batch));
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

}  // namespace

TEST_CASE("a device with isolated memory sees the samples that the host sees, split by split", "[train]") {
  const test::TemporaryFolder folder;
  const auto [context, chunks] = GENERATE(std::pair("", ""), std::pair("2+1", ""), std::pair("", "3-8+3"));
  const std::size_t minibatch = GENERATE(1u, 7u, 1000u);
  const train::TrainingData source = open(folder, context, chunks, GENERATE(false, true));
  const auto expected = seen(source, "cpu", minibatch);
  CHECK(expected.size() >= 413 * (source.info.dim + source.info.widths.targets));
  CHECK(seen(source, "isolated", minibatch) == expected);
}

TEST_CASE("a GPU sees the samples that the host sees, split by split", "[gpu]") {
  const test::TemporaryFolder folder;
  const auto [context, chunks] = GENERATE(std::pair("", ""), std::pair("2+1", ""), std::pair("", "3-8+3"));
  const train::TrainingData source = open(folder, context, chunks);
  if (!backend::testing::gpu_or_nothing("cuda")) return;
  CHECK(seen(source, "cuda", 7) == seen(source, "cpu", 7));
}
