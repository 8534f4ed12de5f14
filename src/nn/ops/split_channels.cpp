#include "nn/ops/split_channels.hpp"

#include <numeric>

#include "backend/kernels/add_columns.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "nn/columns.hpp"
#include "nn/ops/checks.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {
namespace {

/// The input as a matrix: each place of an image is a row.
struct Matrix {
  std::size_t rows, width;
};
Matrix input_of(const Pass& pass) {
  const std::size_t width = pass.input_type(0).shape.extents.back();
  return {pass.rows() * pass.input_type(0).size() / width, width};
}

}  // namespace

std::vector<ValueType> SplitChannels::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  const std::size_t whole = std::accumulate(extents_.begin(), extents_.end(), std::size_t{0});
  if (whole != inputs[0].shape.extents.back())
    throw core::ConfigError(core::format("cuts {} into parts of {} in all", inputs[0].shape.extents.back(), whole));
  std::vector<ValueType> outputs;
  for (const std::size_t extent : extents_) {
    outputs.push_back(inputs[0]);
    outputs.back().shape.extents.back() = extent;
  }
  return outputs;
}

std::optional<OpPart> SplitChannels::part(Types, std::size_t, std::size_t) const {
  return OpPart{OpPart::Kind::replicated, std::make_shared<const SplitChannels>(extents_)};
}

void SplitChannels::forward(const Pass& pass) const {
  const auto [rows, width] = input_of(pass);
  core::Range from;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    from = {from.end, from.end + extents_[i]};
    pass.queue().run(
        backend::CopyColumns{rows, extents_[i], width, columns_of(pass.x(), rows, width, from), extents_[i], pass.y(i)});
  }
}

void SplitChannels::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  const auto [rows, width] = input_of(pass);
  core::Range to;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    to = {to.end, to.end + extents_[i]};
    const std::span<float> target = columns_of(dx.into, rows, width, to);
    if (dx.keep == 0)
      pass.queue().run(backend::CopyColumns{rows, extents_[i], extents_[i], pass.dy(i), width, target});
    else
      pass.queue().run(backend::AddColumns{rows, extents_[i], extents_[i], pass.dy(i), width, target});
  }
  apply_slope(pass.queue(), dx);
}

}  // namespace paragrad::nn
