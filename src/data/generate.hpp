#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/dataset.hpp"

namespace paragrad::data {

struct GenerateOptions {
  std::string out;                    ///< the data file to write
  std::string name = "generated";     ///< of the data set
  std::size_t samples = 100000;       ///< frames of the training set
  std::size_t valid = 10000;          ///< frames of the validation set
  std::size_t test = 10000;           ///< frames of the test set
  std::size_t dim = 40;               ///< features of a frame
  std::size_t classes = 120;          ///< states of the teacher
  std::size_t mixtures = 4;           ///< Gaussians of each state
  double mean_duration = 5;           ///< frames until a state is left, on average
  double separation = 4;              ///< expected distance of two Gaussians' means in standard deviations: less is harder
  std::size_t sequence_length = 300;  ///< frames of a sequence, on average
  std::uint64_t seed = 1;
};

/// A frame classification task of any size, as in acoustic modelling: a hidden Markov model with Gaussian mixtures speaks,
/// and the class of a frame is the state it came from.
///
/// States form chains of three, passed left to right (each state is left with probability 1 / mean_duration per frame);
/// after a chain comes, four times out of five, one of four preferred chains, otherwise any. Means and Gaussians are drawn
/// from the seed; the covariance is the identity. The three subsets are different sequences of the same teacher.
///
/// Needs memory for one sequence. Every number comes from (seed, what it is for, position) by whole-number arithmetic and
/// single IEEE operations, so all machines write the same bytes; a longer training set begins like a shorter one.
/// Throws ConfigError for sizes that make no task, or a full disk.
DatasetInfo generate(const GenerateOptions& options);

}  // namespace paragrad::data
