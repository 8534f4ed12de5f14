#include "nn/node_costs.hpp"

#include <vector>

#include "backend/device.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {
namespace {

using backend::KernelKind;

std::uint64_t all_flops(const backend::WorkMeter& work) {
  return static_cast<std::uint64_t>(work.of(KernelKind::gemm).flops + work.of(KernelKind::streaming).flops);
}

std::uint64_t activation_bytes(const Graph& graph, const Node& node) {
  std::size_t floats = 0;
  for (const ValueId output : node.outputs) floats += graph.values()[output].type.size();
  for (const MemorySpec& memory : node.op->memory(graph.types_of(node.inputs)))
    if (memory.kind == MemorySpec::Kind::saved) floats += memory.size;
  return sizeof(float) * floats;
}

}  // namespace

std::vector<NodeCost> node_costs(const Graph& graph) {
  const auto device = backend::make_device("meta");
  const std::size_t rows_of_sample = graph.rows_per_sample(), multiple = graph.plan().rows_multiple;
  const std::vector<std::uint32_t> one_sequence(rows_of_sample, 1);
  const std::size_t planned_rows = (rows_of_sample + multiple - 1) / multiple * multiple;
  core::Arena features = device->allocate(graph.inputs()), parameters = device->allocate(graph.parameter_count());
  core::Arena gradient = device->allocate(graph.parameter_count()), buffers = device->allocate(graph.buffer_count());
  core::Arena memory = device->allocate(planned_rows * graph.plan().floats_per_row), rows = device->allocate(rows_of_sample);
  core::Arena fixed = device->allocate(graph.plan().fixed_floats);
  const PassState state{.graph = graph,
                        .rows = rows_of_sample,
                        .planned_rows = planned_rows,
                        .features = features.span(),
                        .tokens = {reinterpret_cast<const std::int32_t*>(rows.span().data()), rows_of_sample},
                        .active = one_sequence,
                        .row_numbers = {reinterpret_cast<const std::uint32_t*>(rows.span().data()), rows_of_sample},
                        .parameters = parameters.span(),
                        .buffers = buffers.span(),
                        .memory = memory.span(),
                        .fixed = fixed.span(),
                        .sink = {gradient.span()}};
  std::vector<NodeCost> costs(graph.nodes().size());
  for (NodeId n = 0; n < costs.size(); ++n) {
    const Node& node = graph.nodes()[n];
    const backend::WorkMeter before = device->meter();
    node.op->forward(Pass(state, n, false, device.get()));
    backend::WorkMeter forward = device->meter();
    forward -= before;
    for (const BackwardStep& step : graph.plan().backward) {
      if (step.node != n) continue;
      const Pass pass(state, n, true, device.get());
      if (step.phase == BackwardStep::Phase::inputs)
        node.op->backward_inputs(pass);
      else
        node.op->backward_parameters(pass);
    }
    backend::WorkMeter all = device->meter();
    all -= before;
    costs[n] = {static_cast<std::uint64_t>(forward.of(KernelKind::gemm).flops / 2) / rows_of_sample,
                all_flops(all) / rows_of_sample, activation_bytes(graph, node)};
  }
  return costs;
}

}  // namespace paragrad::nn
