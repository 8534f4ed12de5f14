#include "train/network_learner.hpp"

#include <algorithm>

#include "train/step_sizes.hpp"

namespace paragrad::train {
namespace {

// Activations of this many samples at most are held at once.
constexpr std::size_t largest_piece = 1024;

std::size_t piece(std::size_t minibatch) { return std::clamp<std::size_t>(minibatch, 1, largest_piece); }

}  // namespace

NetworkLearner::NetworkLearner(backend::Device& device, std::shared_ptr<const nn::Network> network, const Options& options,
                               std::size_t minibatch, bool bare_gradient)
    : Learner(device, network->layout, update_rule(options), bare_gradient),
      network_(std::move(network)),
      model_(device, {network_, &network_->layers}, piece(minibatch)),
      loss_(nn::parse_loss(options.loss)) {}

std::vector<Learner::Stage> NetworkLearner::stages(std::size_t elements) const {
  std::vector<Stage> result;
  for (std::size_t end = model_.layer_count(), begin = end; begin > 0;) {
    --begin;
    const core::Range done{model_.range_of(begin).begin, model_.range_of(end - 1).end};
    if (begin > 0 && done.size() < elements) continue;
    result.push_back({{begin, end}, done});
    end = begin;
  }
  return result;
}

backend::LossSum NetworkLearner::gradient(const Stage& stage, std::size_t samples, const NextBatch& next,
                                          const optim::Step& step) {
  const float keep = optimiser().keep(step);
  backend::LossSum sum;
  if (stage.layers.end == model_.layer_count()) {
    if (samples == 0) device().scale(keep, optimiser().gradients());
    sum = pass_until_last_loss(samples, next, keep);
  }
  const nn::GradientSink sink = sink_of_last_piece(samples, keep);
  for (std::size_t layer = stage.layers.end; samples > 0 && layer-- > stage.layers.begin;)
    model_.backward_layer(layer, parameters(), last_piece_, sink, [](core::Range) {});
  return sum;
}

backend::LossSum NetworkLearner::descend(std::size_t samples, const NextBatch& next, const optim::Step& step) {
  if (samples == 0) return {};
  const float keep = optimiser().keep(step);
  const backend::LossSum sum = pass_until_last_loss(samples, next, keep);
  nn::GradientSink sink = sink_of_last_piece(samples, keep);
  if (optimiser().descends()) {
    sink.descent = {step.rate, step.decay, parameters()};
    model_.backward(parameters(), last_piece_, sink, [](core::Range) {});
  } else if (optimiser().needs_all()) {
    model_.backward(parameters(), last_piece_, sink, [](core::Range) {});
    optimiser().update(device(), {0, parameters().size()}, step, parameters());
  } else {
    model_.backward(parameters(), last_piece_, sink,
                    [&](core::Range range) { optimiser().update(device(), range, step, parameters()); });
  }
  return sum;
}

// All of a minibatch up to the loss of its last piece.
backend::LossSum NetworkLearner::pass_until_last_loss(std::size_t samples, const NextBatch& next, float keep) {
  backend::LossSum sum;
  nn::GradientSink sink{optimiser().gradients(), keep};
  for (std::size_t done = 0; done < samples;) {
    if (done > 0) {
      model_.backward(parameters(), last_piece_, sink, [](core::Range) {});
      sink.keep = 1;
    }
    last_piece_ = next(std::min(samples - done, model_.max_batch()));
    done += last_piece_.size();
    model_.forward(parameters(), last_piece_);
    const backend::LossSum part = model_.loss(loss_, last_piece_);
    sum.loss += part.loss;
    sum.errors += part.errors;
  }
  return sum;
}

nn::GradientSink NetworkLearner::sink_of_last_piece(std::size_t samples, float keep) {
  const bool only_piece = samples == last_piece_.size();
  return {optimiser().gradients(), only_piece ? keep : 1.f};
}

backend::LossSum NetworkLearner::evaluate(std::size_t samples, const NextBatch& next) {
  backend::LossSum sum;
  for (std::size_t done = 0; done < samples;) {
    const data::Batch batch = next(std::min(samples - done, model_.max_batch()));
    done += batch.size();
    model_.forward(parameters(), batch);
    const backend::LossSum part = model_.loss(loss_, batch);
    sum.loss += part.loss;
    sum.errors += part.errors;
  }
  return sum;
}

MakeLearner network_learners(std::shared_ptr<const nn::Network> network, const Options& options) {
  return [network = std::move(network), &options](backend::Device& device, std::size_t minibatch, bool bare_gradient) {
    return std::make_unique<NetworkLearner>(device, network, options, minibatch, bare_gradient);
  };
}

}  // namespace paragrad::train
