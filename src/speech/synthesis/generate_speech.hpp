#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::core {
class OptionList;
}

namespace paragrad::speech {

struct GenerateSpeechOptions {
  std::string out;                    ///< the data file to write
  std::string name = "speech-synth";  ///< of the data set
  std::string text;                   ///< text of the training set: see sentences.hpp
  std::string unseen_text;            ///< text of the validation and test set; sentences of the training set are removed
  double train_s = 3600;              ///< minimum duration; the last utterance is completed
  double valid_s = 360;               ///< 0: none
  double test_s = 360;                ///< 0: none
  std::vector<std::string> voices;    ///< empty: all
  std::size_t classes = 1200;         ///< maximum
  std::uint64_t seed = 1;
  std::size_t jobs = 1;         ///< processes; the file is the same for any number
  std::size_t bins = 40;        ///< mel filters
  std::size_t deltas = 0;       ///< order of derivatives appended
  data::Context context{5, 5};  ///< that the network sees

  void describe(core::OptionList& list);
};

struct GeneratedSpeech {
  data::DatasetInfo info;
  std::uint64_t least_frames = 0;  ///< per class, except the rest classes of states (tied_states.hpp)
};

/// Synthetic speech labelled with the phone state of each frame, exactly as used by the voice: warped flite voices
/// (voice.hpp, variation.hpp), log mel energies with mean 0 and variance 1 within each utterance, tied context-dependent
/// states as classes.
///
/// Frames of 25 ms every 10 ms; a label is the state at the middle of its frame. Utterance i of a subset depends on (seed,
/// subset, i) alone. The training set shares neither warps nor text with the validation and test set. A frame costs about
/// 150 µs of one core, nearly all of it in the voice. Features are kept in a file next to `out` (160 bytes per frame,
/// removed at the end) until all contexts have been counted; memory holds 3 bytes per frame. Must be called while the
/// process has one thread.
///
/// Throws ConfigError for texts without sentences, unknown voices, no duration, or an unwritable file.
GeneratedSpeech generate_speech(const GenerateSpeechOptions& options);

}  // namespace paragrad::speech
