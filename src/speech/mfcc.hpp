#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "speech/fbank.hpp"

namespace paragrad::speech {

struct MfccOptions {
  FbankOptions fbank{.frame = {}, .bins = 23};
  std::size_t cepstra = 13;  ///< with C0; at most fbank.bins
  double lifter = 22;        ///< scales cepstrum i by 1 + lifter/2 sin(pi i / lifter); 0: not
  bool use_energy = true;    ///< the log energy in place of C0
};

/// Mel-frequency cepstral coefficients by Kaldi's conventions (feat/feature-mfcc.h): the orthonormal cosine transform (type
/// 2) of the log mel energies, liftered. `fbank.add_energy` is not looked at. Not for use by two threads at once.
class Mfcc {
 public:
  explicit Mfcc(const MfccOptions& options);  ///< throws ConfigError for options that make none

  std::size_t dim() const { return options_.cepstra; }
  Features operator()(std::span<const float> signal) const;  ///< [frames][cepstra]

 private:
  MfccOptions options_;
  Fbank fbank_;
  Matrix<double> transform_;  // [cepstra][bins], with the lifter
};

}  // namespace paragrad::speech
