#include "train/input/training_partition.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "data/partitioning.hpp"

namespace paragrad::train {
namespace {

/// With a synchronisation period: the number of blocks that makes the splits about that long.
std::size_t blocks_of(const TrainingOptions& options, std::size_t samples, int workers) {
  if (options.sync_period == 0) return options.blocks;
  const std::size_t together = options.sync_period * static_cast<std::size_t>(workers);
  return std::max<std::size_t>(1, (samples + together / 2) / together);
}

std::size_t splits_per_block(const TrainingOptions& options, int workers) {
  return options.splits == 0 ? static_cast<std::size_t>(workers) : options.splits;
}

/// The same for sequences, which have an order of their own in each split: workers that share minibatches take parts of the
/// whole block, whose order must not depend on their number.
std::size_t splits_of_sequences(const TrainingOptions& options, int workers) {
  return options.splits == 0 && shares_minibatches(options) ? 1 : splits_per_block(options, workers);
}

/// The partition N×M of the training set with the run's seed, from the file or as it would be stored there: of windows, of
/// rows, or for recurrent models of whole utterances.
data::Partition divided(const TrainingData& source, const TrainingOptions& options, int workers) {
  const int own = replicas(options, workers);
  const std::size_t splits = source.has_sequences() ? splits_of_sequences(options, own) : splits_per_block(options, own);
  const std::size_t blocks = blocks_of(options, source.samples(data::Subset::train), own);
  const data::Dataset& dataset = *source.dataset;
  const auto divide = [&](const data::PartitionUnits& units) {
    return data::divide(units, options.partition, splits, blocks, options.seed);
  };
  if (source.windows[0]) return divide(data::PartitionUnits::of_windows(dataset, *source.windows[0]));
  auto stored = data::Partition::find(dataset, splits, blocks, options.seed, data::settled_kind(options.partition));
  if (stored && (stored->has_whole_utterances() || !source.has_sequences())) return std::move(*stored);
  return divide(source.has_sequences() ? data::PartitionUnits::of_utterances(dataset)
                                       : data::PartitionUnits::of_samples(dataset));
}

/// Utterances are cut after they were divided.
data::Partition cut(const TrainingData& source, data::Partition partition) {
  if (source.windows[0] || !source.has_sequences()) return partition;
  return partition.of_pieces(source.sequences_of(data::Subset::train)->begins());
}

data::Partition sizes_of_partition(const TrainingData& source, const data::Dataset* dataset, const TrainingOptions& options,
                                   std::size_t splits, std::size_t blocks) {
  const std::string kind = data::settled_kind(options.partition);
  const bool recurrent = dataset != nullptr && source.has_sequences() && !source.windows[0];
  auto units = data::PartitionUnits::imaginary(source.samples(data::Subset::train),
                                               recurrent ? "a timing run of a recurrent model" : "an imaginary data set");
  if (dataset != nullptr && source.windows[0] && kind != data::random_kind)
    units = data::PartitionUnits::of_windows(*dataset, *source.windows[0]);
  if (dataset != nullptr && !source.has_sequences()) {
    if (const auto stored = data::Partition::find(*dataset, splits, blocks, options.seed, kind))
      return stored->without_rows();
    if (kind != data::random_kind) units = data::PartitionUnits::of_samples(*dataset);
  }
  return data::divide(units, kind, splits, blocks, options.seed).without_rows();
}

}  // namespace

data::Partition partition_for(const TrainingData& source, const TrainingOptions& options, int workers) {
  return cut(source, divided(source, options, workers));
}

void divide_among_workers(TrainingData& source, const TrainingOptions& options, int workers) {
  data::Partition partition = divided(source, options, workers);
  if (partition.kind() != data::random_kind)
    source.spread = data::spread_of(partition, source.windows[0] ? nullptr : source.dataset.get());
  source.partition = std::make_shared<const data::Partition>(cut(source, std::move(partition)));
}

void divide_imaginary(TrainingData& source, const data::Dataset* dataset, const TrainingOptions& options, int replicas) {
  const std::size_t blocks = blocks_of(options, source.samples(data::Subset::train), replicas);
  source.partition = std::make_shared<const data::Partition>(
      sizes_of_partition(source, dataset, options, splits_per_block(options, replicas), blocks));
  if (source.partition->kind() != data::random_kind) source.spread = data::spread_of(*source.partition, nullptr);
}

}  // namespace paragrad::train
