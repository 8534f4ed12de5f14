#include "train/learner.hpp"

#include <algorithm>
#include <limits>

#include "train/checkpoint.hpp"
#include "train/step_sizes.hpp"

namespace paragrad::train {
namespace {

// Activations of this many samples at most are held at once.
constexpr std::size_t largest_piece = 1024;

optim::OptimiserOptions rule(const Options& options) {
  optim::OptimiserOptions rule = options.optimiser;
  rule.has_momentum = StepSizes(options).has_momentum();
  return rule;
}

std::size_t piece(std::size_t minibatch) { return std::clamp<std::size_t>(minibatch, 1, largest_piece); }

}  // namespace

Learner::Learner(backend::Device& device, std::shared_ptr<const nn::Network> network, const Options& options,
                 std::size_t minibatch, bool bare_gradient)
    : device_(device),
      network_(std::move(network)),
      model_(device, {network_, &network_->layers}, piece(minibatch)),
      loss_(nn::parse_loss(options.loss)),
      parameters_(device.allocate(model_.parameter_count())),
      optimiser_(optim::make_optimiser(rule(options), device, network_->layout, bare_gradient)) {}

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

std::vector<Learner::Stage> Learner::stages(std::size_t elements) const {
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

backend::LossSum Learner::gradient(const Stage& stage, std::size_t samples, const NextBatch& next, const optim::Step& step) {
  const float keep = optimiser_->keep(step);
  backend::LossSum sum;
  if (stage.layers.end == model_.layer_count()) {
    if (samples == 0) device_.scale(keep, optimiser_->gradients());
    sum = pass_until_last_loss(samples, next, keep);
  }
  const nn::GradientSink sink = sink_of_last_piece(samples, keep);
  for (std::size_t layer = stage.layers.end; samples > 0 && layer-- > stage.layers.begin;)
    model_.backward_layer(layer, parameters(), last_piece_, sink, [](core::Range) {});
  return sum;
}

backend::LossSum Learner::descend(std::size_t samples, const NextBatch& next, const optim::Step& step) {
  if (samples == 0) return {};
  const float keep = optimiser_->keep(step);
  const backend::LossSum sum = pass_until_last_loss(samples, next, keep);
  nn::GradientSink sink = sink_of_last_piece(samples, keep);
  if (optimiser_->descends()) {
    sink.descent = {step.rate, step.decay, parameters()};
    model_.backward(parameters(), last_piece_, sink, [](core::Range) {});
  } else if (optimiser_->needs_all()) {
    model_.backward(parameters(), last_piece_, sink, [](core::Range) {});
    optimiser_->update(device_, {0, parameters_.size()}, step, parameters());
  } else {
    model_.backward(parameters(), last_piece_, sink,
                    [&](core::Range range) { optimiser_->update(device_, range, step, parameters()); });
  }
  return sum;
}

// All of a minibatch up to the loss of its last piece.
backend::LossSum Learner::pass_until_last_loss(std::size_t samples, const NextBatch& next, float keep) {
  backend::LossSum sum;
  nn::GradientSink sink{optimiser_->gradients(), keep};
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

nn::GradientSink Learner::sink_of_last_piece(std::size_t samples, float keep) {
  const bool only_piece = samples == last_piece_.size();
  return {optimiser_->gradients(), only_piece ? keep : 1.f};
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

LearnerCost::LearnerCost(const backend::Device& device, std::shared_ptr<const nn::Network> network, const Options& options,
                         std::size_t minibatch, bool bare_gradient)
    : meta_(backend::make_device("meta")),
      learner_(*meta_, std::move(network), options, minibatch, bare_gradient),
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

std::vector<backend::WorkMeter> LearnerCost::gradient(const std::vector<Learner::Stage>& stages, std::size_t samples) {
  std::vector<backend::WorkMeter> costs;
  for (const Learner::Stage& stage : stages) costs.push_back(count([&] { learner_.gradient(stage, samples, next_, {}); }));
  return costs;
}

backend::WorkMeter LearnerCost::descend(std::size_t samples) {
  return count([&] { learner_.descend(samples, next_, {}); });
}

backend::WorkMeter LearnerCost::evaluate(std::size_t samples) {
  return count([&] { learner_.evaluate(samples, next_); });
}

}  // namespace paragrad::train
