#include "train/learner.hpp"

#include <algorithm>
#include <limits>

#include "train/checkpoint.hpp"

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

void Learner::initialise(std::uint64_t seed) {
  if (computes()) model_.initialise(seed, parameters());
}

void Learner::restore(std::span<const float> parameters) {
  if (computes()) std::copy(parameters.begin(), parameters.end(), parameters_.span().begin());
}

std::vector<float> Learner::snapshot() const {
  const std::span<const float> parameters = parameters_.span();
  return computes() ? std::vector<float>(parameters.begin(), parameters.end()) : std::vector<float>{};
}

std::string Learner::parameters_sha256() const {
  return computes() ? train::parameters_sha256(parameters_.span()) : std::string{};
}

Score Learner::score(double loss, double errors, double samples) const {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  if (samples == 0 || !computes()) return {unknown, unknown};
  return {loss / samples, errors / samples};
}

backend::LossSum Learner::gradient(std::size_t samples, const NextBatch& next, const nn::GradientReady& ready) {
  if (samples == 0) device_.scale(optimiser_->keep(), optimiser_->gradients());
  return pass(samples, next, {optimiser_->gradients(), optimiser_->keep()}, ready);
}

backend::LossSum Learner::descend(std::size_t samples, const NextBatch& next, optim::Step step) {
  nn::GradientSink sink{optimiser_->gradients(), optimiser_->keep()};
  if (optimiser_->descends()) {
    sink.descent = {step.rate, step.decay, parameters()};
    return pass(samples, next, sink, [](core::Range) {});
  }
  return pass(samples, next, sink, [&](core::Range range) { optimiser_->update(device_, range, step, parameters()); });
}

backend::LossSum Learner::pass(std::size_t samples, const NextBatch& next, const nn::GradientSink& last,
                               const nn::GradientReady& ready) {
  backend::LossSum sum;
  nn::GradientSink sink = last;
  for (std::size_t done = 0; done < samples;) {
    const data::Batch batch = next(std::min(samples - done, model_.max_batch()));
    done += batch.size();
    const bool is_last = done == samples;
    model_.forward(parameters(), batch);
    const backend::LossSum part = model_.loss(loss_, batch);
    sum.loss += part.loss;
    sum.errors += part.errors;
    sink.descent = is_last ? last.descent : std::nullopt;
    model_.backward(
        parameters(), batch, sink, is_last ? ready : [](core::Range) {});
    sink.keep = 1;
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

LearnerCost::LearnerCost(const backend::Device& device, const Options& options, std::size_t minibatch, bool bare_gradient)
    : meta_(backend::make_device("meta")),
      learner_(*meta_, options, minibatch, bare_gradient),
      batches_(*meta_, learner_.model().inputs(), learner_.model().max_batch()),
      next_([this](std::size_t n) { return batches_.next(n); }) {
  meta_->charge_by(device.call_times());
}

backend::WorkMeter LearnerCost::count(const std::function<void()>& work) {
  const backend::WorkMeter before = meta_->meter();
  work();
  backend::WorkMeter cost = meta_->meter();
  cost -= before;
  return cost;
}

backend::WorkMeter LearnerCost::gradient(std::size_t samples) {
  return count([&] { learner_.gradient(samples, next_, [](core::Range) {}); });
}

backend::WorkMeter LearnerCost::descend(std::size_t samples) {
  return count([&] { learner_.descend(samples, next_, {}); });
}

backend::WorkMeter LearnerCost::evaluate(std::size_t samples) {
  return count([&] { learner_.evaluate(samples, next_); });
}

}  // namespace paragrad::train
