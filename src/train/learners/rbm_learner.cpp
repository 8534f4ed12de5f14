#include "train/learners/rbm_learner.hpp"

#include <algorithm>

#include "core/format.hpp"
#include "core/json.hpp"
#include "train/step_sizes.hpp"

namespace paragrad::train {
namespace {

/// A machine above another has binomial visible units.
rbm::RbmOptions options_of(const PretrainingOptions& options, std::size_t index) {
  rbm::RbmOptions result = options.machine;
  result.visible = index == 0 ? rbm::parse_visible_units(options.visible_units) : rbm::VisibleUnits::binomial;
  return result;
}

double gap(const Score& train, const Score& valid) { return valid.free_energy - train.free_energy; }

}  // namespace

RbmLearner::RbmLearner(backend::Device& device, std::shared_ptr<const Machine> machine, const TrainingOptions& options,
                       int rank, std::size_t minibatch, bool bare_gradient)
    : BackpropLearner(device, machine->layout, update_rule(options), bare_gradient),
      machine_(std::move(machine)),
      weight_deviation_(options.pretraining.weight_deviation),
      layers_below_(device, *machine_->network, machine_->index, machine_->count,
                    rbm::parse_activations(options.pretraining.activations), micro_batch(options, minibatch)),
      below_(device.allocate(layers_below_.parameter_count())),
      rbm_(device, machine_->shape, options_of(options.pretraining, machine_->index), micro_batch(options, minibatch),
           static_cast<std::uint32_t>(static_cast<std::size_t>(rank) * micro_batch(options, minibatch))),
      draws_{.seed = options.seed,
             .layer = static_cast<std::uint32_t>(machine_->index),
             .layers = static_cast<std::uint32_t>(machine_->count)} {
  if (computes() && !machine_->below.empty()) device.transfer(std::span<const float>(machine_->below), below_.span());
}

void RbmLearner::do_initialise(std::uint64_t seed, std::span<float> model) const {
  rbm::initialise(machine_->shape, weight_deviation_,
                  core::RandomStream(seed, core::Purpose::initial_weights, static_cast<std::uint32_t>(machine_->index)),
                  model);
}

std::vector<float> RbmLearner::snapshot() {
  if (!computes()) return {};
  const std::span<const float> below = below_.span(), layer = machine_->shape.layer().of(parameters());
  std::vector<float> result(below.size() + layer.size());
  device().transfer(below, std::span(result).first(below.size()));
  device().transfer(layer, std::span(result).subspan(below.size()));
  return result;
}

void RbmLearner::describe_state(core::StateView& state) {
  state.add("below", below_.span(), core::Rescale::equal);
  rbm_.describe_state(state);
}

// There is one step, with everything.
void RbmLearner::do_steps(backend::KernelQueue& queue, core::Range, const data::Batch& batch, nn::GradientSink sink,
                          backend::LossSum* into, const nn::GradientReady& ready) {
  const auto seen = layers_below_.pass(queue, below_.span(), batch, draws_);
  rbm_.contrast(queue, parameters(), seen, batch.rows, draws_, into);
  if (queue.computes()) rbm_.advance_chains();
  rbm_.gradient(queue, sink, ready);
}

// Layers below use the same random numbers in every epoch, so that epochs can be compared.
void RbmLearner::do_score(backend::KernelQueue& queue, const data::Batch& batch, backend::LossSum* into) {
  rbm::Draws same = draws_;
  same.epoch = 0;
  const auto seen = layers_below_.pass(queue, below_.span(), batch, same);
  rbm_.reconstruction_error(queue, parameters(), seen, into);
  rbm_.free_energy(queue, parameters(), seen, into);
}

core::Json RbmLearner::record(const Score& train, const Score& valid) const {
  return {{"phase", "pretrain"},
          {"layer", machine_->index + 1},
          {"train_reconstruction_error", train.loss},
          {"valid_reconstruction_error", valid.loss},
          {"free_energy_gap", gap(train, valid)}};
}

std::string RbmLearner::describe(const Score& train, const Score& valid) const {
  return core::format("reconstruction error {:.4f}   valid {:.4f}   free-energy gap {:.4f}   ", train.loss, valid.loss,
                      gap(train, valid));
}

MakeLearner rbm_learners(std::shared_ptr<const Machine> machine, const TrainingOptions& options, int rank) {
  return [machine = std::move(machine), &options, rank](backend::Device& device, std::size_t minibatch, bool bare_gradient) {
    return std::make_unique<RbmLearner>(device, machine, options, rank, minibatch, bare_gradient);
  };
}

}  // namespace paragrad::train
