#pragma once

#include <string>
#include <vector>

namespace paragrad::speech {

/// A mono sound signal.
struct Wave {
  double sample_rate = 0;        ///< per second
  std::vector<float> samples{};  ///< in units of 16-bit samples: -32768 … 32767
};

/// Reads a RIFF/WAVE file of 16-bit PCM samples, one channel; skips other chunks. Samples that were written to a pipe, so
/// that their number is not in the file, go to its end. Throws ConfigError for missing, foreign or truncated files, other
/// encodings and several channels.
Wave read_wav(const std::string& path);

}  // namespace paragrad::speech
