#include "strategies/parameter_server/shard.hpp"

#include <utility>

#include "comm/compression/gradient_sum.hpp"

namespace paragrad::strategies {

std::vector<core::Range> cut_into_shards(std::span<const core::Matrix> layout, std::size_t parameters, std::size_t count) {
  std::vector<core::Range> shards;
  for (std::size_t i = 0, begin = 0; i < count; ++i) {
    const std::size_t wanted = core::part_of(parameters, count, i).end;
    const std::size_t end = i + 1 == count ? parameters : comm::cut_below(layout, comm::Grain::column, wanted);
    shards.push_back({begin, end});
    begin = end;
  }
  return shards;
}

Shard::Shard(backend::Device& device, const optim::OptimiserOptions& rule, std::vector<core::Matrix> layout,
             std::size_t parameters, std::span<float> memory)
    : layout_(std::move(layout)),
      own_(device.allocate(memory.empty() ? parameters : 0)),
      parameters_(memory.empty() ? own_.span() : memory),
      rule_(optim::make_optimiser(rule, device, layout_, true)) {}

void Shard::apply(comm::Communicator& comm, const optim::Step& step) {
  rule_->begin_step();
  comm.run_kernels([&](backend::KernelQueue& queue) { rule_->update(queue, {0, parameters_.size()}, step, parameters_); });
  updates_ += 1;
}

void Shard::take_over(const core::StateView& whole, core::Range range, backend::Device& device) {
  core::StateView own;
  rule_->describe_state(own);
  for (const core::StateView::Array& to : own.arrays)
    for (const core::StateView::Array& from : whole.arrays)
      if (from.name == to.name) device.transfer(std::span<const float>(range.of(from.values)), to.values);
  for (const core::StateView::Number& to : own.numbers)
    for (const core::StateView::Number& from : whole.numbers)
      if (from.name == to.name) to.set(from.get());
}

void Shard::describe_state(core::StateView& state) {
  state.add("parameters", parameters_, core::Rescale::own);
  rule_->describe_state(state);
  state.add("updates", updates_, core::Rescale::own);
}

}  // namespace paragrad::strategies
