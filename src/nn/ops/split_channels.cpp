#include "nn/ops/split_channels.hpp"

#include <numeric>

#include "backend/kernels/add_columns.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "nn/columns.hpp"
#include "nn/ops/checks.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {
namespace {

/// Columns `to` of a sink += columns `from` of a gradient.
void add_columns(const Pass& pass, const InputSink& sink, std::size_t sink_width, core::Range to,
                 std::span<const float> gradient, std::size_t width, core::Range from) {
  const std::span<const float> source = columns_of(gradient, pass.rows(), width, from);
  const std::span<float> target = columns_of(sink.into, pass.rows(), sink_width, to);
  if (sink.keep == 0)
    pass.queue().run(backend::CopyColumns{pass.rows(), to.size(), width, source, sink_width, target});
  else
    pass.queue().run(backend::AddColumns{pass.rows(), to.size(), width, source, sink_width, target});
}

}  // namespace

std::vector<ValueType> SplitChannels::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  const std::size_t whole = std::accumulate(extents_.begin(), extents_.end(), std::size_t{0});
  if (whole != inputs[0].shape.extents.front())
    throw core::ConfigError(core::format("cuts {} into parts of {} in all", inputs[0].shape.extents.front(), whole));
  std::vector<ValueType> outputs;
  for (const std::size_t extent : extents_) {
    outputs.push_back(inputs[0]);
    outputs.back().shape.extents[0] = extent;
  }
  return outputs;
}

std::optional<OpPart> SplitChannels::part(Types, std::size_t, std::size_t) const {
  return OpPart{OpPart::Kind::replicated, std::make_shared<const SplitChannels>(extents_)};
}

void SplitChannels::forward(const Pass& pass) const {
  const std::size_t width = pass.input_type(0).size();
  core::Range from;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    const std::size_t own = pass.output_type(i).size();
    from = {from.end, from.end + own};
    pass.queue().run(
        backend::CopyColumns{pass.rows(), own, width, columns_of(pass.x(), pass.rows(), width, from), own, pass.y(i)});
  }
}

void SplitChannels::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  const std::size_t width = pass.input_type(0).size();
  core::Range to;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    const std::size_t own = pass.output_type(i).size();
    to = {to.end, to.end + own};
    add_columns(pass, dx, width, to, pass.dy(i), own, {0, own});
  }
  apply_slope(pass.queue(), dx);
}

}  // namespace paragrad::nn
