#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/dataset.hpp"

namespace paragrad::core {
class OptionList;
}

namespace paragrad::data {

struct GenerateOptions {
  std::string out;                 ///< the data file to write
  std::string name = "generated";  ///< of the data set
  std::size_t samples = 100000;    ///< frames of the training set
  std::size_t valid = 10000;       ///< frames of the validation set
  std::size_t test = 10000;        ///< frames of the test set
  std::size_t dim = 40;            ///< features of a frame
  std::size_t classes = 120;       ///< states of the generating model
  std::size_t mixtures = 4;        ///< Gaussians per state
  double mean_duration = 5;        ///< mean number of frames in a state
  double separation = 4;           ///< expected distance between two Gaussians' means in standard deviations: less is harder
  std::size_t sequence_length = 300;  ///< mean frames per sequence
  std::uint64_t seed = 1;

  void describe(core::OptionList& list);
};

/// A frame classification task of any size, as in acoustic modelling: a hidden Markov model with Gaussian mixtures emits
/// frames, and the class of a frame is the state that emitted it.
///
/// States form chains of three, traversed left to right (each state is left with probability 1 / mean_duration per frame);
/// a chain is followed with probability 0.8 by one of its four preferred chains, otherwise by any. Means and mixture
/// weights are drawn from the seed; the covariance is the identity. The three subsets are different sequences of the same
/// model.
///
/// Needs memory for one sequence. Every number is a function of (seed, purpose, position), computed with integer arithmetic
/// and single IEEE operations, so all machines write the same bytes; a longer training set begins like a shorter one.
/// Throws ConfigError for invalid sizes or a full disk.
DatasetInfo generate(const GenerateOptions& options);

}  // namespace paragrad::data
