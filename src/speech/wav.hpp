#pragma once

#include <string>
#include <vector>

#include "speech/fbank.hpp"

namespace paragrad::speech {

/// A mono sound signal.
struct Wave {
  double sample_rate = 0;        ///< per second
  std::vector<float> samples{};  ///< in units of 16-bit samples: -32768 … 32767
};

/// Reads a RIFF/WAVE file of 16-bit PCM samples, one channel; skips other chunks.
/// Throws ConfigError for missing, foreign or truncated files, other encodings and several channels.
Wave read_wav(const std::string& path);

/// Filterbank features of a sound, each normalised to mean 0 and variance 1 over its frames. Uses the sound's sample rate
/// and ignores options.frame.sample_rate. Throws ConfigError for a sound shorter than a frame.
Features normalised_fbank(const Wave& wave, FbankOptions options = {});

}  // namespace paragrad::speech
