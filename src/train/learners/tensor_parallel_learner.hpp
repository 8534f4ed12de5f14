#pragma once

#include <memory>

#include "comm/worker.hpp"
#include "nn/tensor_parallel.hpp"
#include "train/learners/backprop_learner.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Tensor parallelism: several workers hold one replica together (Dean et al., NIPS 2012). Of every layer, each holds some
/// of the outputs with the parameters that lead to them. All process the same samples.
///
///   forward   y_k = f(x·W_k + b_k) at worker k, [samples][its outputs]; gathering all parts gives the next layer's x.
///   loss      from all outputs, on every worker: the same bits.
///   backward  dW_k = xᵀ·dz_k at worker k; dx = Σ_k dz_k·W_kᵀ, of which each worker gets the sum for its outputs of the
///   layer
///             below.
///
/// Results differ from those of one worker only by the order of additions in that sum (comm::sum_parts), so a network
/// without hidden layers ends in the same bits.
///
/// Bytes     per sample and hidden layer of n outputs, with p workers: each sends (p-1)·n/p floats forward and as many
///           backward; for the last layer forward only.
/// Memory    all activations of one piece of a minibatch, plus two of the widest layer.
class TensorParallelLearner : public BackpropLearner {
 public:
  /// peers: the workers that hold the replica; this learner holds the part of its rank.
  TensorParallelLearner(comm::Worker& peers, backend::Device& device,
                        std::shared_ptr<const nn::TensorParallelNetwork> network, const TrainingOptions& options,
                        std::size_t minibatch, bool bare_gradient);

  std::size_t inputs() const override { return network_->whole->layers.front()->inputs(); }
  std::size_t largest_batch() const override { return largest_batch_; }
  std::size_t model_size() const override { return network_->whole->parameter_count(); }
  void restore(std::span<const float> model) override;
  std::vector<float> snapshot() override;
  bool talks() const override { return true; }
  std::size_t descend(std::size_t samples, const NextBatch& next, const optim::Step& step, backend::LossSum* into) override;

 private:
  void do_initialise(std::uint64_t seed, std::span<float> model) const override {
    nn::initialise(network_->whole->layers, seed, model);
  }
  std::size_t layer_count() const override { return network_->own.layers.size(); }
  core::Range range_of(std::size_t layer) const override { return {starts_[layer], starts_[layer + 1]}; }
  void do_pass(const data::Batch& batch, backend::LossSum* into) override;
  void do_backward(std::size_t layer, const data::Batch& batch, nn::GradientSink sink,
                   const nn::GradientReady& ready) override;
  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override { peers_.run_kernels(kernels); }

  const nn::Layer& whole_layer(std::size_t layer) const { return *network_->whole->layers[layer]; }
  std::size_t own_outputs(std::size_t layer) const { return network_->own.layers[layer]->outputs(); }
  std::span<const float> input_of(std::size_t layer, const data::Batch& batch);
  std::span<float> all_outputs(std::size_t layer, std::size_t samples);
  std::span<float> outputs(std::size_t layer, std::size_t samples);
  std::span<float> delta(std::size_t layer, std::size_t samples);
  std::vector<core::Range> parts_of(std::size_t layer, std::size_t samples) const;
  nn::Pass pass(backend::KernelQueue& queue, std::size_t layer, std::size_t samples, std::span<const float> x);
  void forward(std::size_t layer, const data::Batch& batch);
  void pass_down(std::size_t layer, std::size_t samples);

  comm::Worker& peers_;
  std::shared_ptr<const nn::TensorParallelNetwork> network_;
  nn::Loss loss_;
  std::size_t largest_batch_;
  std::vector<std::size_t> starts_;        // [layers + 1] of each layer's parameters
  std::vector<core::Arena> all_outputs_;   // of each layer [samples][outputs]
  std::vector<core::Arena> own_outputs_;   // of each layer [samples][own outputs]
  std::array<core::Arena, 2> own_deltas_;  // [samples][own outputs of the widest layer], used in turn
  core::Arena in_parts_;                   // [samples][outputs of the widest layer], the columns of worker 0, then of 1 …
  core::Arena partial_;                    // the same in rows: this worker's addend of dx
};

/// Learners for the part of peers.rank(). options and peers must outlive the returned function and its learners. Throws
/// ConfigError, see TensorParallelNetwork.
MakeLearner split_learners(comm::Worker& peers, std::shared_ptr<const nn::Network> network, const TrainingOptions& options);

}  // namespace paragrad::train
