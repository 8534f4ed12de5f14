#pragma once

#include <cstdint>

namespace paragrad::backend {

/// Sums over samples: loss in nats (or squared units), samples whose largest output is not the label.
struct LossSum {
  double loss = 0;
  std::int64_t errors = 0;
  double free_energy = 0;  ///< for models that have one

  LossSum& operator+=(const LossSum& other) {
    loss += other.loss;
    errors += other.errors;
    free_energy += other.free_energy;
    return *this;
  }
};

}  // namespace paragrad::backend
