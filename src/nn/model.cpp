#include "nn/model.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "backend/kernels/copy.hpp"
#include "backend/kernels/fill.hpp"

namespace paragrad::nn {
namespace {

/// Plans are in floats per row: with a multiple of this number of rows everything begins with a cache line.
constexpr std::size_t floats_of_line = 64 / sizeof(float);

std::size_t whole_lines(std::size_t rows) { return (rows + floats_of_line - 1) / floats_of_line * floats_of_line; }

/// Gradients of outputs that nothing uses are zero.
void clear_unused(const PassState& state, const Pass& pass, NodeId n) {
  const Node& node = state.graph.nodes()[n];
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& value = state.graph.values()[node.outputs[i]];
    if (value.has_gradient && value.consumers.empty() && node.outputs[i] != state.graph.output())
      pass.queue().run(backend::Fill{0, pass.dy(i)});
  }
}

const ExchangeOp* as_exchange(const Node& node) { return dynamic_cast<const ExchangeOp*>(node.op.get()); }

/// Runs one part of a node's work after the other. Each runs by itself, except that what precedes an exchange of data runs
/// together with the part before.
class Execution {
 public:
  using Part = std::function<void(const Pass&)>;

  Execution(const PassState& state, backend::KernelQueue& queue, Peers* peers)
      : state_(state), queue_(queue), peers_(peers) {}

  void add(NodeId node, bool backward, Part part) { pending_.push_back({node, backward, std::move(part)}); }
  void run() {
    if (pending_.empty()) return;
    const auto kernels = [this](backend::KernelQueue& queue) {
      for (const Pending& one : pending_) one.part(Pass(state_, one.node, one.backward, &queue));
    };
    if (peers_ != nullptr)
      peers_->run(kernels);
    else
      kernels(queue_);
    pending_.clear();
  }

  void forward(NodeId n) {
    const Node& node = state_.graph.nodes()[n];
    const ExchangeOp* exchange = as_exchange(node);
    if (exchange == nullptr) run();
    add(n, false, [&node](const Pass& pass) { node.op->forward(pass); });
    if (exchange == nullptr) return;
    run();
    exchange->exchange_forward(Pass(state_, n, false, nullptr), peers());
    add(n, false, [exchange](const Pass& pass) { exchange->after_forward(pass); });
    run();
  }

  void backward(const BackwardStep& step) {
    const Node& node = state_.graph.nodes()[step.node];
    const ExchangeOp* exchange = as_exchange(node);
    if (exchange == nullptr) run();
    const bool first = step.phase == BackwardStep::Phase::inputs || !has_inputs_phase(step.node);
    add(step.node, true, [this, &node, step, first](const Pass& pass) {
      if (first) clear_unused(state_, pass, step.node);
      if (step.phase == BackwardStep::Phase::inputs)
        node.op->backward_inputs(pass);
      else
        node.op->backward_parameters(pass);
    });
    if (exchange == nullptr || !exchange->exchanges_backward()) return;
    run();
    exchange->exchange_backward(Pass(state_, step.node, true, nullptr), peers());
    add(step.node, true, [exchange](const Pass& pass) { exchange->after_backward(pass); });
    run();
  }

 private:
  struct Pending {
    NodeId node;
    bool backward;
    Part part;
  };

  Peers& peers() const {
    if (peers_ == nullptr) throw std::logic_error("a part of a graph needs the workers that hold the others");
    return *peers_;
  }
  bool has_inputs_phase(NodeId node) const {
    return std::ranges::any_of(state_.graph.plan().backward, [&](const BackwardStep& step) {
      return step.node == node && step.phase == BackwardStep::Phase::inputs;
    });
  }

  const PassState& state_;
  backend::KernelQueue& queue_;
  Peers* peers_;
  std::vector<Pending> pending_;
};

}  // namespace

Model::Model(backend::Device& device, std::shared_ptr<const Graph> graph, std::size_t max_rows, Peers* peers)
    : graph_(std::move(graph)),
      peers_(peers),
      max_rows_(max_rows),
      planned_rows_(whole_lines(max_rows)),
      memory_(device.allocate(graph_->plan().floats_per_row * planned_rows_)),
      fixed_(device.allocate(graph_->plan().fixed_floats)),
      buffers_(device.allocate(graph_->buffer_count())) {}

void Model::draw(std::uint64_t seed, std::uint32_t epoch) {
  seed_ = seed;
  epoch_ = epoch;
}

PassState Model::state(std::span<const float> parameters, const data::Batch& batch, bool training) {
  return {.graph = *graph_,
          .rows = batch.size(),
          .planned_rows = planned_rows_,
          .training = training,
          .seed = seed_,
          .epoch = epoch_,
          .features = batch.features,
          .active = batch.active,
          .row_numbers = batch.rows,
          .parameters = parameters,
          .buffers = buffers_.span(),
          .memory = memory_.span(),
          .fixed = fixed_.span()};
}

std::span<float> Model::output(std::size_t rows) {
  return memory_.span().subspan(graph_->plan().values[graph_->output()] * planned_rows_, rows * graph_->outputs());
}

std::span<float> Model::gradient_of_output(std::size_t rows) {
  return memory_.span().subspan(graph_->plan().gradients[graph_->output()] * planned_rows_, rows * graph_->outputs());
}

std::span<const float> Model::forward(backend::KernelQueue& queue, std::span<const float> parameters,
                                      const data::Batch& batch, bool training) {
  if (batch.size() > max_rows_) throw std::logic_error("a minibatch is larger than the model was made for");
  const PassState state = this->state(parameters, batch, training);
  Execution execution(state, queue, peers_);
  for (NodeId n = 0; n < graph_->nodes().size(); ++n) execution.forward(n);
  execution.run();
  return output(batch.size());
}

void Model::loss(backend::KernelQueue& queue, Loss kind, const data::Batch& batch, backend::LossSum* into) {
  const Plan& plan = graph_->plan();
  const PassState state = this->state({}, batch, true);
  Execution execution(state, queue, peers_);
  execution.add(*graph_->values()[graph_->output()].producer, true, [&](const Pass& pass) {
    const std::span<float> gradient = gradient_of_output(batch.size());
    if (!plan.gradient_replaces_output) pass.queue().run(backend::Copy{output(batch.size()), gradient});
    run_loss(pass.queue(), kind, batch, graph_->outputs(), gradient, into);
  });
  for (std::size_t s = 0; s < plan.steps_of_loss; ++s) execution.backward(plan.backward[s]);
  execution.run();
}

core::Range Model::completed_by(std::size_t step) const {
  const BackwardStep& at = graph_->plan().backward[step];
  return at.phase == BackwardStep::Phase::parameters ? graph_->nodes()[at.node].owned : core::Range{};
}

void Model::backward(backend::KernelQueue& queue, std::span<const float> parameters, const data::Batch& batch,
                     GradientSink sink, const GradientReady& ready) {
  backward_steps(queue, {0, step_count()}, parameters, batch, sink, ready);
}

// Where kernels may run later, a range is ready only when its step has run.
void Model::backward_steps(backend::KernelQueue& queue, core::Range steps, std::span<const float> parameters,
                           const data::Batch& batch, GradientSink sink, const GradientReady& ready) {
  PassState state = this->state(parameters, batch, true);
  state.sink = sink;
  if (peers_ == nullptr) state.ready = &ready;
  Execution execution(state, queue, peers_);
  for (std::size_t s = std::max(steps.begin, graph_->plan().steps_of_loss); s < steps.end; ++s) {
    execution.backward(graph_->plan().backward[s]);
    if (peers_ == nullptr || completed_by(s).empty()) continue;
    execution.run();
    ready(completed_by(s));
  }
  execution.run();
}

}  // namespace paragrad::nn
