#pragma once

#include <stdexcept>

#include "backend/kernels/window_rows.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

/// The rows of a minibatch whose sequences have one length, as all windows of a text have.
inline backend::WindowRows rows_of_windows(const Pass& pass) {
  const std::span<const std::uint32_t> active = pass.active();
  if (pass.rows() == 0) return {1, 0};
  if (active.empty() || active.front() != active.back())
    throw std::logic_error("an operation on windows of one length was given other rows");
  return {active.front(), active.size()};
}

}  // namespace paragrad::nn
