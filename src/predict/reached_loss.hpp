#pragma once

#include <optional>
#include <vector>

#include "core/json.hpp"

namespace paragrad::predict {

/// Where a training first has a validation loss, linearly between two validations.
struct ReachedLoss {
  double samples = 0;
  double time_s = 0;      ///< of training; validations do not count
  double sent_bytes = 0;  ///< by a worker on average; NaN: unknown
};

/// records: one per validation, as in metrics.jsonl. Nothing if no validation has a loss of at most `loss`. Throws
/// core::Json's exceptions for records that lack a time.
std::optional<ReachedLoss> first_with_loss(const std::vector<core::Json>& records, double loss);

}  // namespace paragrad::predict
