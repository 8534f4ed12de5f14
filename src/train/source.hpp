#pragma once

#include <memory>

#include "data/dataset.hpp"
#include "data/loader.hpp"
#include "data/partition.hpp"
#include "nn/model.hpp"
#include "train/options.hpp"

namespace paragrad::train {

/// Training data of one process, shared by its workers.
struct Source {
  std::shared_ptr<const nn::Network> network;  ///< of the model that is trained on it
  data::DatasetInfo info;
  std::shared_ptr<const data::Dataset> dataset;  ///< null: sizes only, for devices that do not compute
  std::shared_ptr<const data::Partition> partition;
  std::shared_ptr<data::Prefetcher> prefetcher;

  std::size_t samples(data::Subset subset) const { return info.samples[static_cast<std::size_t>(subset)]; }
};

/// Opens the data and takes the partition N×M with the run's seed from the file, or makes the one that would be stored
/// there. Throws ConfigError, also for a model that does not fit the data.
Source open_source(const Options& options, int workers);

/// The same without a partition: enough to evaluate.
Source open_evaluation(const Options& options);

/// For a timing run: the sizes of options.data or, without a file, an imaginary data set of options.imaginary_samples with
/// the model's inputs and outputs. Nothing of the size of the data is allocated. Throws ConfigError.
Source imagine_source(const Options& options, int workers);

}  // namespace paragrad::train
