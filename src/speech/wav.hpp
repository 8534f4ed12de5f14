#pragma once

#include <string>
#include <vector>

#include "speech/fbank.hpp"

namespace paragrad::speech {

/// Sound of one channel.
struct Wave {
  double sample_rate = 0;        ///< per second
  std::vector<float> samples{};  ///< in steps of 16-bit samples: -32768 … 32767
};

/// Reads a RIFF/WAVE file of 16-bit PCM samples, one channel; other chunks are passed over.
/// Throws ConfigError: missing, no such file, truncated, other encodings, several channels.
Wave read_wav(const std::string& path);

/// Filterbank features of a sound with mean 0 and variance 1 of each over its frames. options.frame.sample_rate is not
/// looked at: the sound's counts. Throws ConfigError for a sound shorter than a frame.
Features normalised_fbank(const Wave& wave, FbankOptions options = {});

}  // namespace paragrad::speech
