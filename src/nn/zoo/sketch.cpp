#include "nn/zoo/sketch.hpp"

namespace paragrad::nn::zoo {
namespace {

using Matrices = std::vector<core::MatrixShape>;

std::size_t steps(std::size_t length, std::size_t window, const Filter& w) {
  return w.padding == Padding::same ? (length + w.stride - 1) / w.stride : (length - window) / w.stride + 1;
}

Shape through(Shape from, std::size_t channels, const Filter& window) {
  return {channels, steps(from.height, window.height, window), steps(from.width, window.width, window)};
}

}  // namespace

// Accesses per output activation. Bias and ReLU in one pass: read, write; backward: the ReLU reads two and writes one, the
// bias gradient reads one. Batch normalisation reads twice (moments, then scaling) and writes; backward it reads input and
// gradient twice and writes; its ReLU is separate.
Shape Sketch::convolution(const std::string& name, Shape from, std::size_t channels, Filter window) {
  const Shape to = through(from, channels, window);
  const std::size_t inner = from.channels * window.height * window.width;
  const bool bias = normalise_ == Normalise::bias;
  Matrices weights{{channels, inner}};
  if (bias) weights.push_back({channels, 1});
  rows_.push_back({name, weights, to.positions(), inner, channels, from.size(), to.size(), bias ? 2 * to.size() : 0,
                   bias ? 4 * to.size() : 0});
  if (!bias)
    rows_.push_back(
        {name + "/bn", Matrices(2, {channels, 1}), 0, 0, 0, to.size(), to.size(), (3 + 2) * to.size(), (5 + 3) * to.size()});
  return to;
}

Shape Sketch::pool(const std::string& name, Shape from, Filter window) {
  const Shape to = through(from, from.channels, window);
  const std::size_t accesses = from.size() + to.size();
  rows_.push_back({name, {}, 0, 0, 0, from.size(), to.size(), accesses, accesses});
  return to;
}

Shape Sketch::concatenate(const std::string& name, const std::vector<Shape>& parts) {
  Shape to = parts.front();
  to.channels = 0;
  for (const Shape& part : parts) to.channels += part.channels;
  rows_.push_back({name, {}, 0, 0, 0, to.size(), to.size(), 2 * to.size(), 2 * to.size()});
  return to;
}

Shape Sketch::add(const std::string& name, Shape to) {
  rows_.push_back({name, {}, 0, 0, 0, 2 * to.size(), to.size(), 3 * to.size(), 3 * to.size()});
  return to;
}

Shape Sketch::fully_connected(const std::string& name, Shape from, std::size_t outputs) {
  const std::size_t inputs = from.size();
  const Matrices weights{{outputs, inputs}, {outputs, 1}};
  rows_.push_back({name, weights, 1, inputs, outputs, inputs, outputs, 2 * outputs, 4 * outputs});
  return {outputs, 1, 1};
}

// Weights, biases, three peepholes. Gates, cell and output are read and written about twice, once more in the backward pass.
Shape Sketch::lstm(const std::string& name, std::size_t inputs, std::size_t cells) {
  const std::size_t inner = inputs + cells, gates = 4 * cells;
  Matrices weights{{gates, inner}, {gates, 1}};
  weights.insert(weights.end(), 3, {cells, 1});
  rows_.push_back({name, weights, 1, inner, gates, inner, cells, 12 * cells, 18 * cells});
  return {cells, 1, 1};
}

Layers Sketch::layers() const {
  Layers result;
  std::size_t inputs = input_;
  for (const TableRow& row : rows_) {
    result.push_back(std::make_unique<TableLayer>(row, inputs));
    inputs = row.outputs;
  }
  return result;
}

}  // namespace paragrad::nn::zoo
