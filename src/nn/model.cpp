#include "nn/model.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "backend/kernels/copy.hpp"
#include "backend/kernels/fill.hpp"

namespace paragrad::nn {
namespace {

std::size_t rounded_up(std::size_t rows, std::size_t multiple) { return (rows + multiple - 1) / multiple * multiple; }

const ExchangeOp* as_exchange(const Node& node) { return dynamic_cast<const ExchangeOp*>(node.op.get()); }

/// Runs one part of a node's work after the other. Each runs by itself, except that what precedes an exchange of data runs
/// together with the part before. Without rows there is only what workers do together.
class Execution {
 public:
  Execution(const PassState& state, backend::KernelQueue& queue, ReplicaPeers* peers)
      : state_(state), queue_(queue), peers_(peers) {}

  /// Kernels that run before the next part.
  void add(Kernels kernels) { before_ = std::move(kernels); }

  void forward(NodeId node) {
    const ExchangeOp* exchange = as_exchange(state_.graph.nodes()[node]);
    if (exchange == nullptr && state_.rows == 0) return;
    if (exchange == nullptr) run();
    parts_.push_back({node, Part::forward});
    if (exchange == nullptr) return;
    run();
    exchange->exchange_forward(Pass(state_, node, false, nullptr), peers());
    parts_.push_back({node, Part::after_forward});
    run();
  }

  void backward(const BackwardStep& step) {
    const ExchangeOp* exchange = as_exchange(state_.graph.nodes()[step.node]);
    if (exchange == nullptr && state_.rows == 0) return;
    if (exchange == nullptr) run();
    if (step.begins_node) parts_.push_back({step.node, Part::clear_unused});
    parts_.push_back({step.node, step.phase == BackwardStep::Phase::inputs ? Part::inputs : Part::parameters});
    if (exchange == nullptr || !exchange->exchanges_backward()) return;
    run();
    exchange->exchange_backward(Pass(state_, step.node, true, nullptr), peers());
    parts_.push_back({step.node, Part::after_backward});
    run();
  }

  /// What has not run yet.
  void run() {
    if (!before_ && parts_.empty()) return;
    if (peers_ != nullptr)
      peers_->run([this](backend::KernelQueue& queue) { run_on(queue); });
    else
      run_on(queue_);
    before_ = nullptr;
    parts_.clear();
  }

 private:
  enum class Part { forward, after_forward, clear_unused, inputs, parameters, after_backward };
  struct NodePart {
    NodeId node;
    Part part;
  };

  void run_on(backend::KernelQueue& queue) const {
    if (before_) before_(queue);
    for (const auto& [id, part] : parts_) {
      const Node& node = state_.graph.nodes()[id];
      const bool backward = part != Part::forward && part != Part::after_forward;
      const Pass pass(state_, id, backward, &queue);
      switch (part) {
        case Part::forward:
          node.op->forward(pass);
          break;
        case Part::after_forward:
          as_exchange(node)->after_forward(pass);
          break;
        case Part::clear_unused:
          clear_unused(node, pass);
          break;
        case Part::inputs:
          node.op->backward_inputs(pass);
          break;
        case Part::parameters:
          node.op->backward_parameters(pass);
          break;
        case Part::after_backward:
          as_exchange(node)->after_backward(pass);
          break;
      }
    }
  }

  /// Gradients of outputs that nothing uses are zero.
  void clear_unused(const Node& node, const Pass& pass) const {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& value = state_.graph.values()[node.outputs[i]];
      if (value.has_gradient && value.consumers.empty() && node.outputs[i] != state_.graph.output())
        pass.queue().run(backend::Fill{0, pass.dy(i)});
    }
  }

  ReplicaPeers& peers() const {
    if (peers_ == nullptr) throw std::logic_error("a part of a graph needs the workers that hold the others");
    return *peers_;
  }

  const PassState& state_;
  backend::KernelQueue& queue_;
  ReplicaPeers* peers_;
  Kernels before_;
  std::vector<NodePart> parts_;
};

}  // namespace

Model::Model(backend::Device& device, std::shared_ptr<const Graph> graph, std::size_t max_rows, ReplicaPeers* peers)
    : graph_(std::move(graph)),
      peers_(peers),
      max_rows_(max_rows),
      planned_rows_(rounded_up(max_rows, graph_->plan().rows_multiple)),
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
          .tokens = batch.tokens,
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

void Model::loss(backend::KernelQueue& queue, const Loss& loss, const data::Batch& batch, backend::LossSum* into) {
  const Plan& plan = graph_->plan();
  const PassState state = this->state({}, batch, true);
  Execution execution(state, queue, peers_);
  const auto kernels_of_loss = [&](backend::KernelQueue& kernels) {
    const std::span<float> gradient = gradient_of_output(batch.size());
    if (!plan.gradient_replaces_output) kernels.run(backend::Copy{output(batch.size()), gradient});
    loss.run(kernels, batch, graph_->outputs(), gradient, into);
  };
  if (batch.size() > 0) execution.add(kernels_of_loss);
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
