#include "train/source.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/model.hpp"

namespace paragrad::train {
namespace {

void check_computable(const Options& options) {
  for (const auto& layer : nn::make_layers(options.model))
    if (!layer->computable())
      throw core::ConfigError(core::format(
          "model '{}' is a table of layers that cannot be computed: time it with paragrad simulate --device meta",
          options.model));
}

void check_fit(const Options& options, const data::DatasetInfo& info) {
  const auto layers = nn::make_layers(options.model);
  if (layers.front()->inputs() != info.dim || layers.back()->outputs() != info.classes)
    throw core::ConfigError(core::format("model '{}' has {} inputs and {} outputs, but '{}' has {} features and {} classes",
                                         options.model, layers.front()->inputs(), layers.back()->outputs(), info.path,
                                         info.dim, info.classes));
}

std::size_t splits_per_block(const Options& options, int workers) {
  return options.splits == 0 ? static_cast<std::size_t>(workers) : options.splits;
}

data::DatasetInfo imaginary_info(const Options& options) {
  if (options.imaginary_samples[0] == 0)
    throw core::ConfigError("a timing run needs the size of a data set: give --train-samples, or --data with a file");
  const auto layers = nn::make_layers(options.model);
  data::DatasetInfo info;
  info.name = "imaginary";
  info.dim = layers.front()->inputs();
  info.classes = layers.back()->outputs();
  info.samples = options.imaginary_samples;
  return info;
}

}  // namespace

Source open_evaluation(const Options& options) {
  check_computable(options);
  Source source;
  source.dataset = data::Dataset::open(options.data);
  source.info = source.dataset->info();
  check_fit(options, source.info);
  source.prefetcher = std::make_shared<data::Prefetcher>();
  return source;
}

Source open_source(const Options& options, int workers) {
  Source source = open_evaluation(options);
  const std::size_t splits = splits_per_block(options, workers);
  auto partition = data::Partition::find(*source.dataset, splits, options.blocks, options.seed);
  if (!partition) partition = data::Partition::random(source.info.samples[0], splits, options.blocks, options.seed);
  source.partition = std::make_shared<const data::Partition>(std::move(*partition));
  return source;
}

Source imagine_source(const Options& options, int workers) {
  Source source;
  source.info = options.data.empty() ? imaginary_info(options) : data::Dataset::open(options.data)->info();
  check_fit(options, source.info);
  source.partition = std::make_shared<const data::Partition>(
      data::Partition::of_sizes(source.info.samples[0], splits_per_block(options, workers), options.blocks, options.seed));
  return source;
}

}  // namespace paragrad::train
