#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "speech/fbank.hpp"

namespace paragrad::speech {

struct MfccOptions {
  FbankOptions fbank{.frame = {}, .bins = 23};
  std::size_t cepstra = 13;  ///< with C0; at most fbank.bins
  double lifter = 22;        ///< scales cepstrum i by 1 + lifter/2 sin(pi i / lifter); 0: no scaling
  bool use_energy = true;    ///< replaces C0 with the log energy
};

/// Mel-frequency cepstral coefficients by Kaldi's conventions (feat/feature-mfcc.h): the orthonormal cosine transform (type
/// 2) of the log mel energies, liftered. Ignores `fbank.add_energy`. Not thread-safe.
class Mfcc {
 public:
  explicit Mfcc(const MfccOptions& options);  ///< throws ConfigError for invalid options

  std::size_t dim() const { return options_.cepstra; }
  Features operator()(std::span<const float> signal) const;  ///< [frames][cepstra]

 private:
  MfccOptions options_;
  Fbank fbank_;
  Matrix<double> transform_;  // [cepstra][bins], with the lifter
};

}  // namespace paragrad::speech
