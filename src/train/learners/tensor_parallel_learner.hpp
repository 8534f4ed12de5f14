#pragma once

#include <memory>

#include "comm/worker.hpp"
#include "nn/tensor_parallel.hpp"
#include "train/learners/backprop_learner.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// A replica that some workers hold together (model parallelism, Dean et al., NIPS 2012): of every layer each holds some of
/// the outputs, with the parameters that lead to them. All see the same samples.
///
///   forward   y_k = f(x·W_k + b_k) at holder k, [samples][its outputs]; then all parts are gathered: the next layer's x.
///   loss      from all outputs, by every holder: the same bits.
///   backward  dW_k = xᵀ·dz_k at holder k; dx = Σ_k dz_k·W_kᵀ, each holder being given the sum for its outputs of the layer
///             below.
///
/// Numbers differ from those of one worker by the order in which that sum is added up (comm::sum_parts), and by nothing
/// else; so a network without hidden layers ends in the same bits.
///
/// Bytes     per sample and hidden layer of n outputs, with p holders: each sends (p-1)·n/p floats forward and as many
///           backward; of the last layer forward only.
/// Memory    all activations of a piece of a minibatch, and two more of the widest layer.
class TensorParallelLearner : public BackpropLearner {
 public:
  /// peers: who hold the replica; this one is the part of its rank.
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
  void run_kernels(const std::function<void(backend::Device&)>& kernels) override { peers_.run_kernels(kernels); }

  const nn::Layer& whole_layer(std::size_t layer) const { return *network_->whole->layers[layer]; }
  std::size_t own_outputs(std::size_t layer) const { return network_->own.layers[layer]->outputs(); }
  std::span<const float> input_of(std::size_t layer, const data::Batch& batch);
  std::span<float> all_outputs(std::size_t layer, std::size_t samples);
  std::span<float> outputs(std::size_t layer, std::size_t samples);
  std::span<float> delta(std::size_t layer, std::size_t samples);
  std::vector<core::Range> parts_of(std::size_t layer, std::size_t samples) const;
  nn::Pass pass(backend::Device& device, std::size_t layer, std::size_t samples, std::span<const float> x);
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
  core::Arena in_parts_;                   // [samples][outputs of the widest layer], the columns of holder 0, then of 1 …
  core::Arena partial_;                    // the same in rows: a holder's addend of dx
};

/// The part of peers.rank(). options and peers must outlive what is returned. Throws ConfigError, see TensorParallelNetwork.
MakeLearner split_learners(comm::Worker& peers, std::shared_ptr<const nn::Network> network, const TrainingOptions& options);

}  // namespace paragrad::train
