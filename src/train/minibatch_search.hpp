#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/options.hpp"

namespace paragrad::train {

struct MinibatchSearchOptions {
  bool enabled = false;
  int frequency = 1;              ///< epochs between two searches (CNTK's minibatchSizeTuningFrequency)
  std::size_t largest = 1048576;  ///< (minibatchSizeTuningMax)
  double margin_percent = 1;      ///< allowed excess over the loss of the smallest size (…CriterionErrorMargin)
  std::size_t samples = 0;        ///< samples per trial (numSamples4Search); 0: 500 minibatches of the configured size

  /// All but `enabled`.
  void describe(core::OptionList& list);
};

/// Whether epoch `epoch` begins with a search: epochs 1 + frequency, 1 + 2·frequency, … do. The first epoch does not, as an
/// untrained model gives no information.
bool search_before(const MinibatchSearchOptions& options, int epoch);

/// The sizes to try, increasing by factors of √2, in multiples of 64 (of 8 below 256): from half the present size, but at
/// least the configured one, to twice the present size.
std::vector<std::size_t> sizes_to_try(const MinibatchSearchOptions& options, std::size_t configured, std::size_t present);

/// Automatic minibatch size (CNTK's autoAdjustMinibatch; Seide et al., Interspeech 2014). loss(size) briefly trains with
/// that size from the present model and returns the loss per sample. Returns the largest size before the first whose loss is
/// NaN or exceeds that of the smallest by more than the margin. (CNTK counts NaN as a success, here it is a failure.)
std::size_t search_minibatch(const MinibatchSearchOptions& options, const std::vector<std::size_t>& sizes,
                             const std::function<double(std::size_t)>& loss);

}  // namespace paragrad::train
