#include "train/network_learner.hpp"

#include "train/step_sizes.hpp"

namespace paragrad::train {

NetworkLearner::NetworkLearner(backend::Device& device, std::shared_ptr<const nn::Network> network, const Options& options,
                               std::size_t minibatch, bool bare_gradient)
    : PassLearner(device, network->layout, update_rule(options), bare_gradient),
      network_(std::move(network)),
      model_(device, {network_, &network_->layers}, network_->is_recurrent() ? minibatch : piece(minibatch)),
      loss_(nn::parse_loss(options.loss)) {}

backend::LossSum NetworkLearner::do_pass(const data::Batch& batch) {
  model_.forward(parameters(), batch);
  return model_.loss(loss_, batch);
}

MakeLearner network_learners(std::shared_ptr<const nn::Network> network, const Options& options) {
  return [network = std::move(network), &options](backend::Device& device, std::size_t minibatch, bool bare_gradient) {
    return std::make_unique<NetworkLearner>(device, network, options, minibatch, bare_gradient);
  };
}

}  // namespace paragrad::train
