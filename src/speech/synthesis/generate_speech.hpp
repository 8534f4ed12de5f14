#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::speech {

struct GenerateSpeechOptions {
  std::string out;                    ///< the data file to write
  std::string name = "speech-synth";  ///< of the data set
  std::string text;                   ///< what is said in the training set: see sentences.hpp
  std::string unseen_text;            ///< in the validation and test set, without what is in the training set
  double train_s = 3600;              ///< how long at least; the last utterance is said to its end
  double valid_s = 360;               ///< 0: none
  double test_s = 360;                ///< 0: none
  std::vector<std::string> voices;    ///< empty: all
  std::size_t classes = 1200;         ///< at most
  std::uint64_t seed = 1;
  std::size_t jobs = 1;         ///< processes; the file is the same for any number
  std::size_t bins = 40;        ///< mel filters
  std::size_t deltas = 0;       ///< derivatives added to them
  data::Context context{5, 5};  ///< that the network sees
};

struct GeneratedSpeech {
  data::DatasetInfo info;
  std::uint64_t least_frames = 0;  ///< of a class, but for those of what is left of a state (tied_states.hpp)
};

/// Speech with the state of a phone for each frame, exactly as the voice had it: warps of flite's voices (voice.hpp,
/// variation.hpp), log mel energies with mean 0 and variance 1 within each utterance, tied states in context as classes.
///
/// Frames of 25 ms every 10 ms; a label is the state at the middle of its frame. Utterance i of a subset depends on (seed,
/// subset, i) alone. The training set has the voices with warps that validation and test set have not, and the text of these
/// is not in it. A frame costs about 150 µs of one core, nearly all of it the voice's. Features go through a file beside
/// `out` (160 bytes a frame, removed in the end) until all contexts have been counted; in memory are 3 bytes a frame. Must
/// be called while the process has one thread.
///
/// Throws ConfigError for texts without sentences, unknown voices, no duration, a file that cannot be written.
GeneratedSpeech generate_speech(const GenerateSpeechOptions& options);

}  // namespace paragrad::speech
