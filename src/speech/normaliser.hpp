#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "speech/kaldi_table.hpp"
#include "speech/normalise.hpp"

namespace paragrad::speech {

/// The identity of an utterance, for normalisation.
struct SpokenBy {
  std::string utterance;
  std::string speaker;  ///< empty: unknown
  std::size_t set = 0;  ///< speaker statistics are kept per set; global statistics use set 0, the training set
};

/// Normalises the features of utterances by statistics of
///   none       no normalisation
///   utterance  the utterance alone
///   speaker    all utterances of a speaker in a set
///   global     all utterances of the training set
/// Any other word names a Kaldi file: one matrix for all, or a table of matrices by speaker or by utterance. A matrix is
/// either statistics ([2][dim + 1], from compute-cmvn-stats) or a transform ([dim][dim + 1], offsets in the last column).
/// Features get mean 0 and variance 1.
class Normaliser {
 public:
  /// Throws ConfigError for a file that does not exist or is not a Kaldi file.
  explicit Normaliser(std::string how);

  bool learns() const { return how_ == "speaker" || how_ == "global"; }  ///< learn() must first be called with all features
  bool needs_speakers() const { return how_ == "speaker"; }
  bool reads_file() const { return lone_ || table_; }
  void learn(const SpokenBy& who, const Matrix<double>& features);

  /// In place. Throws ConfigError for an utterance missing in the file or a matrix of the wrong size.
  void apply(const SpokenBy& who, Matrix<double>& features) const;

 private:
  FeatureStatistics& statistics_of(const SpokenBy& who, std::size_t dim);
  void apply_matrix(const Matrix<double>& matrix, Matrix<double>& features) const;

  std::string how_;
  std::unordered_map<std::string, FeatureStatistics> learnt_;  // by speaker and set; for lookup only, never iterated
  std::optional<Matrix<double>> lone_;
  std::unique_ptr<KaldiTable> table_;
};

}  // namespace paragrad::speech
