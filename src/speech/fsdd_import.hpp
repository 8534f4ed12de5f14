#pragma once

#include <cstddef>
#include <string>

#include "data/dataset.hpp"

namespace paragrad::speech {

struct ImportFsddOptions {
  std::string recordings;  ///< folder of files {digit}_{speaker}_{index}.wav; others are not looked at
  std::string out;         ///< the data file to write
  std::size_t states = 6;  ///< of each digit
  std::size_t test = 5;    ///< recordings of each digit and speaker whose index is below; that is the official test set
  std::size_t valid = 5;   ///< so many indices behind those are for validation
  std::size_t bins = 40;   ///< mel filters
  std::size_t deltas = 2;  ///< derivatives added to them
  double frame_shift_s = 0.010;
  data::Context context;  ///< that the network sees
};

/// The Free Spoken Digit Dataset (Jackson and others, github.com/Jakobovski/free-spoken-digit-dataset) -> data file: log mel
/// energies and their derivatives, mean 0 and variance 1 within each recording; classes are the states of ten word models
/// (word_models.hpp) and labels a flat start, each recording cut into its word's states evenly. Utterances have the names of
/// their files, in the order of speaker, digit, index. Memory for all features.
///
/// Throws ConfigError, with the file, for folders without recordings, files that read_wav refuses, and recordings with fewer
/// frames than a word has states.
data::DatasetInfo import_fsdd(const ImportFsddOptions& options);

}  // namespace paragrad::speech
