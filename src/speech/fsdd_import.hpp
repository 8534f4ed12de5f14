#pragma once

#include <cstddef>
#include <string>

#include "data/import_report.hpp"

namespace paragrad::core {
class OptionList;
}

namespace paragrad::speech {

struct ImportFsddOptions {
  std::string recordings;  ///< folder of files {digit}_{speaker}_{index}.wav; others are left out and reported
  std::string out;         ///< the data file to write
  std::size_t states = 6;  ///< of each digit
  std::size_t test =
      5;  ///< indices below this form the test set, for each digit and speaker; the default is the official one
  std::size_t valid = 5;   ///< number of following indices used for validation
  std::size_t bins = 40;   ///< mel filters
  std::size_t deltas = 2;  ///< order of derivatives appended
  double frame_shift_s = 0.010;
  data::Context context;  ///< that the network sees

  void describe(core::OptionList& list);
};

/// Converts the Free Spoken Digit Dataset (Jackson and others, github.com/Jakobovski/free-spoken-digit-dataset) to a data
/// file: log mel energies and their derivatives, normalised to mean 0 and variance 1 within each recording; classes are the
/// states of ten word models (word_models.hpp), and labels are a flat start, with each recording divided evenly among the
/// states of its word. Utterances are named after their files and ordered by speaker, digit, index. Holds all features in
/// memory.
///
/// Throws ConfigError, naming the file, for folders without recordings, files that read_wav rejects, recordings with fewer
/// frames than a word has states, and recordings with different sample rates.
data::Imported import_fsdd(const ImportFsddOptions& options);

}  // namespace paragrad::speech
