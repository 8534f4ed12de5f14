#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "speech/kaldi_table.hpp"
#include "speech/normalise.hpp"

namespace paragrad::speech {

/// An utterance, as far as its normalisation goes.
struct SpokenBy {
  std::string utterance;
  std::string speaker;  ///< empty: not known
  std::size_t set = 0;  ///< statistics of a speaker do not mix sets; those of all are of set 0, the training set
};

/// Normalises the features of utterances by statistics that are
///   none       not wanted
///   utterance  those of the utterance alone
///   speaker    of all utterances of a speaker in a set
///   global     of all utterances of the training set
/// or, for any other word, by what a file of Kaldi's holds: a matrix for all, or a table of matrices by speaker or by
/// utterance. A matrix is either statistics ([2][dim + 1], of compute-cmvn-stats) or a transform ([dim][dim + 1], offsets in
/// the last column). Mean and variance both become those of a standard normal variable.
class Normaliser {
 public:
  /// Throws ConfigError for a file that does not exist or is none of Kaldi's.
  explicit Normaliser(std::string how);

  bool learns() const { return how_ == "speaker" || how_ == "global"; }  ///< learn() wants to see all features first
  bool needs_speakers() const { return how_ == "speaker"; }
  bool reads_file() const { return lone_ || table_; }
  void learn(const SpokenBy& who, const Features& features);

  /// In place. Throws ConfigError for an utterance of which the file knows nothing, or a matrix that does not fit.
  void apply(const SpokenBy& who, Features& features) const;

 private:
  FeatureStatistics& statistics_of(const SpokenBy& who, std::size_t dim);
  void apply_matrix(const Matrix<double>& matrix, Features& features) const;

  std::string how_;
  std::unordered_map<std::string, FeatureStatistics> learnt_;  // by speaker and set; looked up in, never walked through
  std::optional<Matrix<double>> lone_;
  std::unique_ptr<KaldiTable> table_;
};

}  // namespace paragrad::speech
