#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "data/dataset.hpp"

namespace paragrad::speech {

struct ImportKaldiOptions {
  /// Tables of features and of alignments (int32, the class of each frame) of training, validation and test set. Only the
  /// first are needed; where alignments of another set are not named, those of the training set's table serve.
  std::array<std::string, 3> features, alignments;
  std::string utt2spk;          ///< file: who speaks which utterance, of all sets
  std::string cmvn = "none";    ///< how features are normalised: see speech/normaliser.hpp
  std::string class_names;      ///< file: a name for each class, one a line
  std::string out;              ///< the data file to write
  std::string name;             ///< of the data set
  std::string source;           ///< where the files come from, for the record
  std::string licence;          ///< for the record
  std::size_t classes = 0;      ///< 0: the largest training label + 1
  std::size_t valid = 0;        ///< utterances of the training set that become the validation set, drawn at random
  std::uint64_t seed = 1;       ///< of that draw
  data::Context context;        ///< that the network sees
  double frame_shift_s = 0.01;  ///< from frame to frame
  bool skip_missing = false;    ///< leave out utterances without alignment, or with one of another length
};

/// What came of an import.
struct ImportedKaldi {
  data::DatasetInfo info;
  std::size_t without_alignment = 0;  ///< utterances that were skipped
  std::size_t other_length = 0;       ///< utterances that were skipped: alignments of another length, or no frames
};

/// Kaldi's features and alignments -> data file with utterances (in the order of the feature tables), speakers and lengths.
/// Alignments are of classes, not of transitions: in Kaldi, ali-to-pdf makes them. Reads the features once, or twice where
/// statistics of speakers or of all are wanted; needs memory for one utterance and the tables' keys.
///
/// Throws ConfigError, with the utterance, for archives that cannot be read, missing alignments and other lengths (unless
/// they are to be skipped), labels outside the classes, features of another dimension or not finite.
ImportedKaldi import_kaldi(const ImportKaldiOptions& options);

}  // namespace paragrad::speech
