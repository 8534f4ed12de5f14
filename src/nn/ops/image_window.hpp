#pragma once

#include <cstddef>
#include <optional>

#include "backend/kernels/convolution.hpp"
#include "core/options.hpp"
#include "nn/ops/checks.hpp"

namespace paragrad::nn {

/// Zeros around an image.
///
///   same    as many as make each extent of the output that of the input divided by the stride, rounded up; an odd one comes
///           after the image (TensorFlow)
///   valid   none
///   of(n)   n on every side (Caffe, PyTorch)
struct Padding {
  enum class Kind { same, valid, fixed };
  Kind kind = Kind::same;
  std::size_t zeros = 0;

  static const Padding same, valid;
  static constexpr Padding of(std::size_t zeros) { return {Kind::fixed, zeros}; }
};
inline constexpr Padding Padding::same{Padding::Kind::same};
inline constexpr Padding Padding::valid{Padding::Kind::valid};

/// A window that moves over an image: a filter, or what is pooled.
struct Window {
  std::size_t height;
  std::size_t width;
  std::size_t stride = 1;
  Padding padding = Padding::same;
  std::size_t dilation = 1;
};

constexpr Window square(std::size_t side, std::size_t stride = 1, Padding padding = Padding::same) {
  return {side, side, stride, padding};
}

/// The window's positions, down and across. Throws ConfigError if it does not fit into the image.
struct WindowPositions {
  backend::WindowSteps down, across;
};
WindowPositions positions_of(const Window& window, const Image& image);

/// A window in the text of a network.
struct WindowOptions {
  std::size_t size = 3, height = 0, width = 0, stride = 1, dilation = 1;
  std::optional<std::size_t> zeros{};

  void describe(core::OptionList& list);
  Window window() const;
};

/// "3x3", "7x7/2"
std::string describe(const Window& window);

}  // namespace paragrad::nn
