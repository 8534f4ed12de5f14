#include "train/learners/network_learner.hpp"

#include "train/step_sizes.hpp"

namespace paragrad::train {

NetworkLearner::NetworkLearner(backend::Device& device, std::shared_ptr<const nn::Network> network,
                               const TrainingOptions& options, std::size_t minibatch, bool bare_gradient,
                               std::size_t rows_per_sample)
    : BackpropLearner(device, network->layout, update_rule(options), bare_gradient),
      network_(std::move(network)),
      rows_per_sample_(rows_per_sample),
      model_(device, {network_, &network_->layers}, micro_batch(options, minibatch) * rows_per_sample),
      loss_(nn::parse_loss(options.loss)) {}

void NetworkLearner::do_pass(const data::Batch& batch, backend::LossSum* into) {
  model_.forward(parameters(), batch);
  model_.loss(loss_, batch, into);
}

MakeLearner network_learners(std::shared_ptr<const nn::Network> network, const TrainingOptions& options,
                             std::size_t rows_per_sample) {
  return [network = std::move(network), &options, rows_per_sample](backend::Device& device, std::size_t minibatch,
                                                                   bool bare_gradient) {
    return std::make_unique<NetworkLearner>(device, network, options, minibatch, bare_gradient, rows_per_sample);
  };
}

}  // namespace paragrad::train
