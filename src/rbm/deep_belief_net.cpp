#include "rbm/deep_belief_net.hpp"

#include <stdexcept>

#include "backend/kernels/sampling.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/node_text.hpp"
#include "nn/ops/affine.hpp"
#include "nn/ops/checks.hpp"

namespace paragrad::rbm {
namespace {

/// The states of a machine's hidden units, drawn from their probabilities.
class SampleStates final : public nn::Op {
 public:
  SampleStates(std::size_t machine, std::size_t machines) : machine_(machine), machines_(machines) {}

  std::string name() const override { return "sample states"; }
  std::vector<nn::ValueType> infer(Types inputs) const override {
    nn::expect_inputs(inputs, 1);
    return {inputs[0]};
  }
  void forward(const nn::Pass& pass) const override {
    const Draws draws{.seed = pass.seed(),
                      .epoch = pass.epoch(),
                      .layer = static_cast<std::uint32_t>(machine_),
                      .layers = static_cast<std::uint32_t>(machines_)};
    pass.queue().run(backend::SampleBernoulli{draws.stream(core::Purpose::activations_below), pass.row_numbers(),
                                              pass.input_type(0).size(), pass.x(), pass.y()});
  }
  void backward_inputs(const nn::Pass&) const override { throw std::logic_error("drawn states have no gradient"); }

 private:
  std::size_t machine_, machines_;
};

}  // namespace

std::vector<Shape> machines_of(const nn::Graph& network, const std::string& model) {
  const auto nodes = network.nodes();
  if (nodes.size() < 2)
    throw core::ConfigError(core::format("model '{}' has no hidden layer to pretrain", nn::short_name(model)));
  std::vector<Shape> machines;
  for (std::size_t l = 0; l + 1 < nodes.size(); ++l) {
    const auto* affine = dynamic_cast<const nn::Affine*>(nodes[l].op.get());
    if (affine == nullptr || affine->activation() != backend::Activation::sigmoid)
      throw core::ConfigError(
          core::format("model '{}': layer {} cannot be pretrained as a Boltzmann machine; choose :sigmoid",
                       nn::short_name(model), l + 1));
    machines.push_back(
        {network.values()[nodes[l].inputs[0]].type.size(), network.values()[nodes[l].outputs[0]].type.size()});
  }
  return machines;
}

LayersBelow::LayersBelow(backend::Device& device, const nn::Graph& network, std::size_t count, std::size_t machines,
                         Activations activations, std::size_t max_batch) {
  if (count == 0) return;
  nn::GraphBuilder below(network.values().front().type);
  nn::ValueId x = nn::GraphBuilder::input;
  for (std::size_t l = 0; l < count; ++l) {
    const nn::Node& node = network.nodes()[l];
    x = below.add_node(node.name, node.op, {x}).front();
    if (activations == Activations::sampled) x = below.add(node.name + "/states", SampleStates(l, machines), {x});
  }
  model_.emplace(device, std::move(below).build(x), max_batch);
}

std::span<const float> LayersBelow::pass(backend::KernelQueue& queue, std::span<const float> parameters,
                                         const data::Batch& batch, const Draws& draws) {
  if (!model_) return batch.features;
  model_->draw(draws.seed, draws.epoch);
  return model_->forward(queue, parameters, batch);
}

}  // namespace paragrad::rbm
