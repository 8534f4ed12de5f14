#include "train/learner.hpp"

#include <algorithm>

namespace paragrad::train {
namespace {

// Activations of this many samples at most are held at once.
constexpr std::size_t largest_piece = 1024;

std::size_t piece(std::size_t minibatch) { return std::clamp<std::size_t>(minibatch, 1, largest_piece); }

}  // namespace

Learner::Learner(backend::Device& device, const Options& options, std::size_t minibatch, bool bare_gradient)
    : device_(device),
      model_(device, nn::make_layers(options.model), piece(minibatch)),
      loss_(nn::parse_loss(options.loss)),
      parameters_(device.allocate(model_.parameter_count())),
      optimiser_(optim::make_optimiser(options.optimiser, device, model_.parameter_count(),
                                       static_cast<float>(options.momentum), bare_gradient)) {}

backend::LossSum Learner::minibatch(std::size_t samples, const NextBatch& next, const nn::GradientReady& ready) {
  backend::LossSum sum;
  float keep = optimiser_->keep();
  if (samples == 0) device_.scale(keep, optimiser_->gradients());
  for (std::size_t done = 0; done < samples;) {
    const data::Batch batch = next(std::min(samples - done, model_.max_batch()));
    done += batch.size();
    model_.forward(parameters(), batch);
    const backend::LossSum part = model_.loss(loss_, batch);
    sum.loss += part.loss;
    sum.errors += part.errors;
    const bool last = done == samples;
    model_.backward(
        parameters(), batch, {optimiser_->gradients(), keep}, last ? ready : [](core::Range) {});
    keep = 1;
  }
  return sum;
}

backend::LossSum Learner::evaluate(std::size_t samples, const NextBatch& next) {
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

LearnerCost::LearnerCost(const Options& options, std::size_t minibatch, bool bare_gradient)
    : meta_(backend::make_device("meta")),
      learner_(*meta_, options, minibatch, bare_gradient),
      features_(meta_->allocate(learner_.model().max_batch() * learner_.model().inputs())),
      labels_(learner_.model().max_batch()) {}

data::Batch LearnerCost::imaginary_batch(std::size_t samples) {
  return {features_.span().first(samples * learner_.model().inputs()), std::span(labels_).first(samples)};
}

backend::WorkMeter LearnerCost::count(const std::function<void()>& work) {
  const backend::WorkMeter before = meta_->meter();
  work();
  backend::WorkMeter cost = meta_->meter();
  cost -= before;
  return cost;
}

backend::WorkMeter LearnerCost::minibatch(std::size_t samples, bool update) {
  return count([&] {
    learner_.minibatch(
        samples, [&](std::size_t n) { return imaginary_batch(n); },
        [&](core::Range range) {
          if (update) learner_.optimiser().update(*meta_, range, {}, learner_.parameters());
        });
  });
}

backend::WorkMeter LearnerCost::evaluate(std::size_t samples) {
  return count([&] { learner_.evaluate(samples, [&](std::size_t n) { return imaginary_batch(n); }); });
}

}  // namespace paragrad::train
