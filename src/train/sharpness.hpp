#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "comm/worker.hpp"
#include "train/input/worker_input.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// How sharply the loss f rises around the parameters x (Keskar et al., ICLR 2017, Metric 2.1, with all parameters free).
struct Sharpness {
  double loss = 0;          ///< f(x), per sample
  double highest_loss = 0;  ///< the highest f(x + z) found with |z_i| <= epsilon (|x_i| + 1)

  double percent() const { return 100 * (highest_loss - loss) / (1 + loss); }
};

struct SharpnessOptions {
  double epsilon = 1e-3;                                          ///< size of the box
  int steps = 10;                                                 ///< maximum number of steps of the search
  std::size_t samples = std::numeric_limits<std::size_t>::max();  ///< uses only this many, the first of the subset
};

/// The sharpness of the loss of a subset, whose samples are divided among the workers.
///
/// Searches the box by conditional gradients (Frank and Wolfe, 1956): each step goes towards the corner at which the
/// linearised loss is highest, by 1, 1/2, 1/4 or 1/8 of the way: the first of these that raises the loss. So highest_loss is
/// a lower bound of the maximum. The paper's value, from ten iterations of L-BFGS-B, is another lower bound; the two are not
/// comparable in size.
///
/// Costs at most `steps` gradients and 4 * steps + 1 evaluations of the samples. With another number of workers, sums are
/// rounded differently. Throws ConfigError for a network with running statistics (batch normalisation), whose training loss
/// is a different function from its evaluation loss, for a subset without samples, and for a loss that is not finite.
Sharpness sharpness(comm::Worker& worker, const TrainingOptions& options, std::span<const float> parameters,
                    const WorkerInput& input, data::Subset subset, const SharpnessOptions& how);

}  // namespace paragrad::train
