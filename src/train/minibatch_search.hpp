#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace paragrad::train {

struct MinibatchSearchOptions {
  bool enabled = false;
  int frequency = 1;              ///< epochs between two searches (CNTK's minibatchSizeTuningFrequency)
  std::size_t largest = 1048576;  ///< (minibatchSizeTuningMax)
  double margin_percent = 1;      ///< by how much the loss may be above the smallest size's (…CriterionErrorMargin)
  std::size_t samples = 0;        ///< that each trial trains (numSamples4Search); 0: 500 minibatches of the configured size
};

/// Throws ConfigError.
void check(const MinibatchSearchOptions& options);

/// Epochs 1, 1 + frequency, … begin with a search, the first one excepted: an untrained model tells nothing.
bool search_before(const MinibatchSearchOptions& options, int epoch);

/// The sizes to try, rising by √2, in multiples of 64 (of 8 below 256): from half the present size, but no less than
/// the configured one, to twice the present size.
std::vector<std::size_t> sizes_to_try(const MinibatchSearchOptions& options, std::size_t configured, std::size_t present);

/// Automatic minibatch size (CNTK's autoAdjustMinibatch; Seide et al., Interspeech 2014): loss(size) trains a little with
/// that size from the present model and says the loss per sample. Returns the largest size before the first whose loss is
/// above that of the smallest by more than the margin, or no number: where CNTK takes NaN for a success, it is a harm here.
std::size_t search_minibatch(const MinibatchSearchOptions& options, const std::vector<std::size_t>& sizes,
                             const std::function<double(std::size_t)>& loss);

}  // namespace paragrad::train
