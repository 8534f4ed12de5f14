#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/model.hpp"
#include "train/trainer.hpp"

namespace paragrad::train {
namespace {

void check_fit(const Options& options, const data::DatasetInfo& info) {
  const auto layers = nn::make_layers(options.model);
  if (layers.front()->inputs() != info.dim || layers.back()->outputs() != info.classes)
    throw core::ConfigError(core::format("model '{}' has {} inputs and {} outputs, but '{}' has {} features and {} classes",
                                         options.model, layers.front()->inputs(), layers.back()->outputs(), info.path,
                                         info.dim, info.classes));
}

}  // namespace

Source open_evaluation(const Options& options) {
  Source source;
  source.dataset = data::Dataset::open(options.data);
  check_fit(options, source.dataset->info());
  source.prefetcher = std::make_shared<data::Prefetcher>();
  return source;
}

Source open_source(const Options& options, int workers) {
  Source source = open_evaluation(options);
  const data::DatasetInfo& info = source.dataset->info();
  const std::size_t splits = options.splits == 0 ? static_cast<std::size_t>(workers) : options.splits;
  auto partition = data::Partition::find(*source.dataset, splits, options.blocks, options.seed);
  if (!partition) partition = data::Partition::random(info.samples[0], splits, options.blocks, options.seed);
  source.partition = std::make_shared<const data::Partition>(std::move(*partition));
  return source;
}

}  // namespace paragrad::train
