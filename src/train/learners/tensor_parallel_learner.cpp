#include "train/learners/tensor_parallel_learner.hpp"

#include <algorithm>

#include "backend/kernels/activation_backward.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "backend/kernels/losses.hpp"
#include "comm/parts.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/step_sizes.hpp"

namespace paragrad::train {

TensorParallelLearner::TensorParallelLearner(comm::Worker& peers, backend::Device& device,
                                             std::shared_ptr<const nn::TensorParallelNetwork> network,
                                             const TrainingOptions& options, std::size_t minibatch, bool bare_gradient)
    : BackpropLearner(device, network->own.layout, update_rule(options), bare_gradient),
      peers_(peers),
      network_(std::move(network)),
      loss_(nn::parse_loss(options.loss)),
      largest_batch_(micro_batch(options, minibatch)),
      starts_{0} {
  if (optimiser().needs_all())
    throw core::ConfigError(core::format(
        "optimiser '{}' needs whole matrices, but --tensor-parallel gives each worker a part: choose another optimiser",
        optim::describe(options.optimiser)));
  std::size_t widest = 0;
  for (std::size_t l = 0; l < layer_count(); ++l) {
    starts_.push_back(starts_.back() + network_->own.layers[l]->parameter_count());
    all_outputs_.push_back(device.allocate(largest_batch_ * whole_layer(l).outputs()));
    own_outputs_.push_back(device.allocate(largest_batch_ * own_outputs(l)));
    widest = std::max(widest, whole_layer(l).outputs());
  }
  const std::size_t widest_part = (widest + network_->parts - 1) / network_->parts;
  for (core::Arena& deltas : own_deltas_) deltas = device.allocate(largest_batch_ * widest_part);
  in_parts_ = device.allocate(largest_batch_ * widest);
  partial_ = device.allocate(largest_batch_ * widest);
}

std::span<const float> TensorParallelLearner::input_of(std::size_t layer, const data::Batch& batch) {
  return layer == 0 ? batch.features : all_outputs(layer - 1, batch.size());
}

std::span<float> TensorParallelLearner::all_outputs(std::size_t layer, std::size_t samples) {
  return all_outputs_[layer].span().first(samples * whole_layer(layer).outputs());
}

std::span<float> TensorParallelLearner::outputs(std::size_t layer, std::size_t samples) {
  return own_outputs_[layer].span().first(samples * own_outputs(layer));
}

std::span<float> TensorParallelLearner::delta(std::size_t layer, std::size_t samples) {
  return own_deltas_[layer % 2].span().first(samples * own_outputs(layer));
}

/// The range of each worker's columns in in_parts_.
std::vector<core::Range> TensorParallelLearner::parts_of(std::size_t layer, std::size_t samples) const {
  std::vector<core::Range> parts;
  for (std::size_t k = 0; k < network_->parts; ++k) {
    const core::Range outputs = network_->outputs_of(layer, k);
    parts.push_back({samples * outputs.begin, samples * outputs.end});
  }
  return parts;
}

namespace {

/// Columns `range` of a matrix [samples][width], as a span that begins and ends with them.
template <class Real>
std::span<Real> columns(std::span<Real> matrix, std::size_t samples, std::size_t width, core::Range range) {
  return matrix.subspan(range.begin, (samples - 1) * width + range.size());
}

}  // namespace

nn::Pass TensorParallelLearner::pass(backend::KernelQueue& queue, std::size_t layer, std::size_t samples,
                                     std::span<const float> x) {
  const std::span<const float> parameters = this->parameters();
  return {
      .queue = queue, .rows = samples, .parameters = range_of(layer).of(parameters), .x = x, .y = outputs(layer, samples)};
}

void TensorParallelLearner::forward(std::size_t layer, const data::Batch& batch) {
  const std::size_t samples = batch.size(), width = whole_layer(layer).outputs();
  const auto parts = parts_of(layer, samples);
  const auto in_parts = in_parts_.span().first(samples * width);
  const auto own = outputs(layer, samples);
  run_kernels([&](backend::KernelQueue& queue) {
    network_->own.layers[layer]->forward(pass(queue, layer, samples, input_of(layer, batch)));
    queue.run(backend::Copy{own, parts[network_->part].of(in_parts)});
  });
  comm::gather_parts(peers_.comm(), parts, in_parts);
  run_kernels([&](backend::KernelQueue& queue) {
    for (std::size_t k = 0; k < network_->parts; ++k) {
      const core::Range range = network_->outputs_of(layer, k);
      queue.run(backend::CopyColumns{samples, range.size(), range.size(), parts[k].of(in_parts), width,
                                     columns(all_outputs(layer, samples), samples, width, range)});
    }
  });
}

void TensorParallelLearner::do_pass(const data::Batch& batch, backend::LossSum* into) {
  for (std::size_t layer = 0; layer < layer_count(); ++layer) forward(layer, batch);
  const std::size_t last = layer_count() - 1, samples = batch.size(), classes = whole_layer(last).outputs();
  const auto predicted = all_outputs(last, samples);
  const core::Range range = network_->outputs_of(last, network_->part);
  run_kernels([&](backend::KernelQueue& queue) {
    if (loss_ == nn::Loss::cross_entropy)
      queue.run(backend::SoftmaxCrossEntropy{samples, classes, batch.labels, predicted, into});
    else
      queue.run(backend::SquaredError{samples, classes, batch.labels, predicted, into});
    queue.run(backend::CopyColumns{samples, range.size(), classes, columns(predicted, samples, classes, range), range.size(),
                                   delta(last, samples)});
  });
}

/// Computes the delta of the layer below from delta(layer).
void TensorParallelLearner::pass_down(std::size_t layer, std::size_t samples) {
  const std::size_t width = whole_layer(layer - 1).outputs();
  const auto parts = parts_of(layer - 1, samples);
  const auto in_parts = in_parts_.span().first(samples * width), partial = partial_.span().first(samples * width);
  run_kernels([&](backend::KernelQueue& queue) {
    network_->own.layers[layer]->backward_input(pass(queue, layer, samples, all_outputs(layer - 1, samples)),
                                                delta(layer, samples), backend::Activation::identity, partial);
    for (std::size_t k = 0; k < network_->parts; ++k) {
      const core::Range range = network_->outputs_of(layer - 1, k);
      queue.run(backend::CopyColumns{samples, range.size(), width, columns(partial, samples, width, range), range.size(),
                                     parts[k].of(in_parts)});
    }
  });
  comm::sum_parts(peers_.comm(), parts, in_parts);
  run_kernels([&](backend::KernelQueue& queue) {
    queue.run(backend::Copy{parts[network_->part].of(in_parts), delta(layer - 1, samples)});
    queue.run(backend::ActivationBackward{whole_layer(layer - 1).activation(), outputs(layer - 1, samples),
                                          delta(layer - 1, samples)});
  });
}

void TensorParallelLearner::do_backward(std::size_t layer, const data::Batch& batch, nn::GradientSink sink,
                                        const nn::GradientReady& ready) {
  const std::size_t samples = batch.size();
  if (layer > 0) pass_down(layer, samples);
  run_kernels([&](backend::KernelQueue& queue) {
    network_->own.layers[layer]->backward_parameters(pass(queue, layer, samples, input_of(layer, batch)),
                                                     delta(layer, samples), sink.part(range_of(layer)), [](core::Range) {});
  });
  ready(range_of(layer));
}

std::size_t TensorParallelLearner::descend(std::size_t samples, const NextBatch& next, const optim::Step& step,
                                           backend::LossSum* into) {
  if (samples == 0) return 0;
  const std::size_t scored = pass_until_last_loss(samples, next, optimiser().keep(step), into);
  backward(sink_of_last(samples, optimiser().keep(step)), [&](core::Range range) {
    run_kernels([&](backend::KernelQueue& queue) { optimiser().update(queue, range, step, parameters()); });
  });
  return scored;
}

void TensorParallelLearner::restore(std::span<const float> model) {
  if (!computes() || model.empty()) return;
  std::vector<float> part(parameters().size());
  network_->cut(network_->part, model, part);
  device().transfer(std::span<const float>(part), parameters());
}

std::vector<float> TensorParallelLearner::snapshot() {
  std::vector<core::Range> parts;
  for (std::size_t k = 0, begin = 0; k < network_->parts; begin = parts[k++].end)
    parts.push_back({begin, begin + network_->parameter_count(k)});
  core::Arena all = device().allocate(model_size());
  run_kernels([&](backend::KernelQueue& queue) {
    queue.run(backend::Copy{parameters(), parts[network_->part].of(all.span())});
  });
  comm::gather_parts(peers_.comm(), parts, all.span());
  if (!computes()) return {};
  std::vector<float> in_parts(model_size()), model(model_size());
  device().transfer(std::span<const float>(all.span()), std::span(in_parts));
  for (std::size_t k = 0; k < network_->parts; ++k) network_->join(k, parts[k].of(std::span<const float>(in_parts)), model);
  return model;
}

MakeLearner split_learners(comm::Worker& peers, std::shared_ptr<const nn::Network> network, const TrainingOptions& options) {
  const auto split = std::make_shared<const nn::TensorParallelNetwork>(
      std::move(network), static_cast<std::size_t>(peers.size()), static_cast<std::size_t>(peers.rank()));
  return [&peers, split, &options](backend::Device& device, std::size_t minibatch, bool bare_gradient) {
    return std::make_unique<TensorParallelLearner>(peers, device, split, options, minibatch, bare_gradient);
  };
}

}  // namespace paragrad::train
