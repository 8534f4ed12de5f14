#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "data/dataset.hpp"
#include "data/partitioning.hpp"
#include "data/row_stream.hpp"
#include "data/sequences.hpp"
#include "data/text_windows.hpp"
#include "data/token_sequences.hpp"
#include "nn/model.hpp"
#include "train/learners/learner.hpp"
#include "train/state/checkpoint.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Training data of one process, shared by its workers.
struct TrainingData {
  std::shared_ptr<const nn::Graph> network;  ///< the model trained on the data
  data::DatasetInfo info;
  std::shared_ptr<const data::Dataset> dataset;  ///< null: only sizes are known, for devices that do not compute
  std::shared_ptr<const data::Partition> partition;
  std::optional<data::PartitionSpread> spread;  ///< how much the workers' data differ; none if the partition is random
  std::shared_ptr<data::Prefetcher> prefetcher;

  /// For a recurrent model: the chunks that sequences are cut into, which are its samples; null: samples are rows.
  std::array<std::shared_ptr<const data::Sequences>, 3> sequences{};

  /// Of a text: the windows that are its samples, and its sequences.
  std::array<std::optional<data::Windows>, 3> windows{};

  std::array<double, 3> mean_weights{1, 1, 1};  ///< of the samples of each subset

  /// Variance of the training set's real-valued targets, in which a sample counts by its weight, summed over the targets of
  /// a sample; 0: there are none.
  double target_variance = 0;

  /// Their tokens, if the loss reads these (nn::LossEntry::is_aligned).
  std::array<std::shared_ptr<const data::TokenSequences>, 3> tokens{};

  bool has_sequences() const { return sequences[0] != nullptr; }
  const std::shared_ptr<const data::Sequences>& sequences_of(data::Subset subset) const {
    return sequences[static_cast<std::size_t>(subset)];
  }
  const std::shared_ptr<const data::TokenSequences>& tokens_of(data::Subset subset) const {
    return tokens[static_cast<std::size_t>(subset)];
  }
  /// The sequence that every sample is like, as all windows of a text are of one length; none if samples are rows, or if
  /// they differ.
  std::optional<data::Sequence> all_alike() const;
  bool samples_differ() const { return has_sequences() && !all_alike(); }

  std::size_t samples(data::Subset subset) const {
    return has_sequences() ? sequences_of(subset)->count() : info.samples[static_cast<std::size_t>(subset)];
  }

  /// How many rows (tokens if the loss reads these) score the first `first` samples.
  std::size_t scored(data::Subset subset, std::size_t first) const {
    if (const auto& said = tokens_of(subset)) return said->count(first);
    return has_sequences() ? sequences_of(subset)->scored(first) : first;
  }

  /// Sums to be scored. A sample with targets has an error, too: its squared error as a multiple of their variance, so the
  /// mean error is the share of the variance that the model leaves unexplained, 1 - R². NaN if they do not vary.
  SampleSums sums(data::Subset subset, double loss, double errors, double samples, double free_energy = 0) const {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    const double of_unit_weight = loss / mean_weights[static_cast<std::size_t>(subset)];
    const double relative = target_variance > 0 ? 2 * of_unit_weight / target_variance : unknown;
    return {loss, info.widths.targets > 0 ? relative : errors, samples, free_energy};
  }

  std::size_t most_rows_per_sample() const;
  double scored_per_sample() const;  ///< mean over the training set
};

/// Throws ConfigError if these are not the parameters of a model with the network's size, as of a damaged checkpoint.
void check_size(const TrainingData& source, std::span<const float> parameters);

/// Opens the data and reads the partition N×M with the run's seed from the file, or makes the one that would be stored
/// there. Throws ConfigError, also if the model does not fit the data.
TrainingData open_training_data(const TrainingOptions& options, int workers);

/// The same without a partition: enough to evaluate.
TrainingData open_evaluation_data(const TrainingOptions& options);

/// The same for the model of a checkpoint, whose options.model and, unless it is given, options.loss are set. Where both
/// name their classes, those of the data are numbered as the checkpoint's. Throws ConfigError if the data are of another
/// kind than those that the model was trained on. path: of the checkpoint.
TrainingData open_evaluation_data(const TrainingOptions& options, const Checkpoint& checkpoint, const std::string& path);

/// For a timing run: the sizes of options.data or, without a file, an imaginary data set of `imaginary` samples (of each
/// subset) with the model's inputs and outputs. Allocates no memory proportional to the data. Throws ConfigError.
TrainingData imagine_training_data(const TrainingOptions& options, int workers,
                                   const std::array<std::size_t, 3>& imaginary = {});

}  // namespace paragrad::train
