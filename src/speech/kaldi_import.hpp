#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "data/import_report.hpp"

namespace paragrad::core {
class OptionList;
}

namespace paragrad::speech {

struct ImportKaldiOptions {
  /// Tables of features and of alignments (int32, the class of each frame) of training, validation and test set. Only those
  /// of the training set are required; its alignment table is also used for sets that name none.
  std::array<std::string, 3> features, alignments;
  std::string utt2spk;          ///< file: the speaker of each utterance, for all sets
  std::string cmvn = "none";    ///< how features are normalised: see speech/normaliser.hpp
  std::string class_names;      ///< file: a name for each class, one per line
  std::string out;              ///< the data file to write
  std::string name;             ///< of the data set
  std::string source;           ///< where the files come from, stored as metadata
  std::string licence;          ///< stored as metadata
  std::size_t classes = 0;      ///< 0: the largest training label + 1
  std::size_t valid = 0;        ///< utterances of the training set that become the validation set, drawn at random
  std::uint64_t seed = 1;       ///< for that draw
  data::Context context;        ///< that the network sees
  double frame_shift_s = 0.01;  ///< from frame to frame
  bool skip_missing = false;    ///< skip utterances without alignment or with an alignment of another length

  void describe(core::OptionList& list);
};

/// The result of an import.
struct ImportedKaldi {
  data::Imported info;
  std::size_t without_alignment = 0;  ///< utterances that were skipped
  std::size_t other_length = 0;       ///< utterances that were skipped: alignment of another length, or no frames
};

/// Converts Kaldi features and alignments to a data file with utterances (in the order of the feature tables), speakers and
/// lengths. Alignments must contain classes, not transitions: Kaldi's ali-to-pdf converts them. Reads the features once, or
/// twice for per-speaker or global statistics; needs memory for one utterance and the tables' keys.
///
/// Throws ConfigError, naming the utterance, for unreadable archives, missing or mismatched alignments (unless they are to
/// be skipped), labels outside the classes, and features of another dimension or not finite.
ImportedKaldi import_kaldi(const ImportKaldiOptions& options);

}  // namespace paragrad::speech
