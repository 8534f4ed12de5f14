#pragma once

#include "data/dataset.hpp"
#include "data/partition.hpp"
#include "train/input/training_data.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Sets the partition of opened training data for this number of workers, from the data file or as it would be stored there,
/// and how much the workers' data differ. Throws ConfigError.
void divide_among_workers(TrainingData& source, const TrainingOptions& options, int workers);

/// The same partition, for another number of workers.
data::Partition partition_for(const TrainingData& source, const TrainingOptions& options, int workers);

/// Sets the sizes of the splits, for a timing run, which knows of sequences nothing but their number. dataset: null if there
/// is none. replicas: see replicas(). Throws ConfigError.
void divide_imaginary(TrainingData& source, const data::Dataset* dataset, const TrainingOptions& options, int replicas);

}  // namespace paragrad::train
