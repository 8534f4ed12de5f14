#pragma once

#include <string>
#include <vector>

#include "nn/layers/table_layer.hpp"

namespace paragrad::nn::zoo {

/// The shape of an image, or of a vector as an image of one point.
struct Shape {
  std::size_t channels = 1;
  std::size_t height = 1;
  std::size_t width = 1;

  std::size_t positions() const { return height * width; }
  std::size_t size() const { return channels * positions(); }
};

/// same: each dimension of the output is that of the input divided by the stride, rounded up; valid: only where the
/// filter fits.
enum class Padding { same, valid };

struct Filter {
  std::size_t height;
  std::size_t width;
  std::size_t stride = 1;
  Padding padding = Padding::same;
};

constexpr Filter square(std::size_t side, std::size_t stride = 1, Padding padding = Padding::same) {
  return {side, side, stride, padding};
}

/// After a convolution: a bias per channel, or batch normalisation (a separate row, no bias).
enum class Normalise { bias, batch };

/// Builds a layer table: each function adds rows in execution order and returns the output shape.
class Sketch {
 public:
  Sketch(Shape input, Normalise normalise) : input_(input.size()), normalise_(normalise) {}

  /// With bias or batch normalisation, and a ReLU.
  Shape convolution(const std::string& name, Shape from, std::size_t channels, Filter window);
  Shape pool(const std::string& name, Shape from, Filter window);
  Shape global_pool(Shape from) { return pool("pool", from, {from.height, from.width, 1, Padding::valid}); }
  Shape concatenate(const std::string& name, const std::vector<Shape>& parts);  ///< along the channels
  Shape add(const std::string& name, Shape to);                                 ///< a shortcut, then a ReLU
  Shape fully_connected(const std::string& name, Shape from, std::size_t outputs);

  /// One direction, with peepholes: 4·cells gates on (inputs + cells), one sample = one frame (Graves, arXiv 1308.0850).
  Shape lstm(const std::string& name, std::size_t inputs, std::size_t cells);

  Layers layers() const;

 private:
  std::size_t input_;
  Normalise normalise_;
  std::vector<TableRow> rows_;
};

}  // namespace paragrad::nn::zoo
