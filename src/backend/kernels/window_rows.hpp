#pragma once

#include <cstddef>

#include "core/host_device.hpp"

namespace paragrad::backend {

/// Rows of sequences of one length: all first rows, all second rows, … (Steps with the same number in each).
struct WindowRows {
  std::size_t sequences, steps;

  PARAGRAD_HOST_DEVICE std::size_t size() const { return sequences * steps; }
  PARAGRAD_HOST_DEVICE std::size_t row(std::size_t step, std::size_t sequence) const { return step * sequences + sequence; }
  PARAGRAD_HOST_DEVICE std::size_t step_of(std::size_t row) const { return row / sequences; }
  PARAGRAD_HOST_DEVICE std::size_t sequence_of(std::size_t row) const { return row % sequences; }
};

}  // namespace paragrad::backend
