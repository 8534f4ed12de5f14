#include "train/input/variance_check.hpp"

#include <algorithm>
#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/node_text.hpp"

namespace paragrad::train {
namespace {

/// The fewest samples, at least one, of which a minibatch of any block consists.
std::size_t fewest_samples(const TrainingOptions& options, const data::Partition& partition) {
  const bool shared = shares_minibatches(options);
  std::size_t fewest = partition.samples();
  const auto count = [&](core::Range range) {
    const std::size_t whole = options.minibatch == 0 ? range.size() : std::min(options.minibatch, range.size());
    for (const std::size_t size : {whole, whole == 0 ? 0 : range.size() % whole})
      if (size > 0) fewest = std::min(fewest, size);
  };
  for (std::size_t block = 0; block < partition.blocks(); ++block) {
    if (shared || options.parallel_start_epoch > 1) count(partition.block_range(block));
    for (std::size_t split = 0; !shared && split < partition.workers(); ++split) count(partition.split_range(block, split));
  }
  return fewest;
}

}  // namespace

void check_variances(const TrainingOptions& options, const TrainingData& source, int workers) {
  const nn::Node* node = source.network->needs_two_rows();
  if (node == nullptr || source.has_sequences()) return;
  const std::size_t fewest = fewest_samples(options, *source.partition);
  const std::string where = core::format("{} ({}) of model '{}' takes the variance of each channel over a minibatch",
                                         node->name, node->op->name(), nn::short_name(options.model));
  if (fewest == 1)
    throw core::ConfigError(core::format(
        "{}, and the {} minibatch of a block is a single sample: give another `minibatch` or number of `blocks`", where,
        options.minibatch == 1 ? "smallest" : "last"));
  if (!shares_minibatches(options) || options.sync_batch_norm || fewest / static_cast<std::size_t>(workers) > 1) return;
  const bool synchronises = strategies::strategy_entry(options.strategy).exchanges_always;
  throw core::ConfigError(core::format(
      "{}, but one of {} samples gives some of {} workers a single sample: {}a larger `minibatch`, another number of "
      "`blocks` or fewer workers",
      where, fewest, workers, synchronises ? "add `sync-batch-norm`, or give " : "give "));
}

}  // namespace paragrad::train
