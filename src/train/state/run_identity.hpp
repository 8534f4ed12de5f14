#pragma once

#include <cstdint>
#include <string>

#include "train/input/training_data.hpp"

namespace paragrad::train {

/// Identifies the run that a saved state belongs to: resuming with different options, data or splits would end in different
/// weights. The same on all workers.
struct RunIdentity {
  std::string options_sha256;    ///< of the options that determine what is computed
  std::string data_sha256;       ///< content hash of the data set, as stored in its file
  std::string partition_sha256;  ///< of the rows of each split, in order
  std::string classes_sha256;    ///< of the names of the classes; empty if they have none

  /// Size and modification time of the data file. If they differ, only reading the file shows whether its content still
  /// matches its stored hash.
  std::uint64_t data_bytes = 0;
  std::int64_t data_modified_ns = 0;

  /// A name for the run: hash of its options, data and partition.
  std::string sha256() const;
};

/// options: text of the options that determine what is computed. Costs a pass over the partition.
RunIdentity identify_run(const std::string& options, const TrainingData& source);

/// Checks that run `now` may resume a state saved by run `saved`. Throws ConfigError that names the difference. If the data
/// file was touched in between, its content is verified, which costs a pass over the file.
void check_same_run(const RunIdentity& saved, const RunIdentity& now, const std::string& data_path);

}  // namespace paragrad::train
