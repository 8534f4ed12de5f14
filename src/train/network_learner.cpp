#include "train/network_learner.hpp"

#include "train/step_sizes.hpp"

namespace paragrad::train {

NetworkLearner::NetworkLearner(backend::Device& device, std::shared_ptr<const nn::Network> network, const Options& options,
                               std::size_t minibatch, bool bare_gradient)
    : PassLearner(device, network->layout, update_rule(options), bare_gradient),
      network_(std::move(network)),
      model_(device, {network_, &network_->layers}, piece(minibatch)),
      loss_(nn::parse_loss(options.loss)) {}

backend::LossSum NetworkLearner::do_pass(const data::Batch& batch) {
  model_.forward(parameters(), batch);
  return model_.loss(loss_, batch);
}

backend::LossSum NetworkLearner::descend(std::size_t samples, const NextBatch& next, const optim::Step& step) {
  if (samples == 0) return {};
  const float keep = optimiser().keep(step);
  const backend::LossSum sum = pass_until_last_loss(samples, next, keep);
  nn::GradientSink sink = sink_of_last_piece(samples, keep);
  if (optimiser().descends()) {
    sink.descent = {step.rate, step.decay, parameters()};
    backward(sink, [](core::Range) {});
  } else if (optimiser().needs_all()) {
    backward(sink, [](core::Range) {});
    optimiser().update(device(), {0, parameters().size()}, step, parameters());
  } else {
    backward(sink, [&](core::Range range) { optimiser().update(device(), range, step, parameters()); });
  }
  return sum;
}

MakeLearner network_learners(std::shared_ptr<const nn::Network> network, const Options& options) {
  return [network = std::move(network), &options](backend::Device& device, std::size_t minibatch, bool bare_gradient) {
    return std::make_unique<NetworkLearner>(device, network, options, minibatch, bare_gradient);
  };
}

}  // namespace paragrad::train
