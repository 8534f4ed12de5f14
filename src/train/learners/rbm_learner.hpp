#pragma once

#include <memory>

#include "nn/model.hpp"
#include "rbm/deep_belief_net.hpp"
#include "rbm/rbm.hpp"
#include "train/learners/backprop_learner.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// The RBM of a network's hidden layer, counted from 0, and the trained layers below it.
struct Machine {
  std::shared_ptr<const nn::Graph> network;
  std::size_t index;
  std::size_t count;  ///< number of machines
  rbm::Shape shape;
  std::vector<core::Matrix> layout;
  std::vector<float> below;  ///< parameters of the layers below; empty on a device that does not compute
};

/// Trains an RBM on the outputs of the layers below. Its loss is the reconstruction error; it has no error rate.
class RbmLearner : public BackpropLearner {
 public:
  /// rank: of the worker; gives each worker different persistent chains.
  RbmLearner(backend::Device& device, std::shared_ptr<const Machine> machine, const TrainingOptions& options, int rank,
             std::size_t minibatch, bool bare_gradient);

  std::size_t inputs() const override { return machine_->network->inputs(); }
  std::size_t largest_batch() const override { return rbm_.max_batch(); }

  /// The parameters of the network's layers up to this one.
  std::vector<float> snapshot() override;

  void begin_epoch(int epoch) override { draws_.epoch = static_cast<std::uint32_t>(epoch); }
  void describe_state(core::StateView& state) override;
  bool has_free_energy() const override { return true; }
  core::Json record(const Score& train, const Score& valid) const override;
  std::string describe(const Score& train, const Score& valid) const override;

 private:
  void do_initialise(std::uint64_t seed, std::span<float> model) const override;
  std::size_t step_count() const override { return 1; }
  core::Range completed_by(std::size_t) const override { return {0, machine_->shape.parameter_count()}; }
  void do_steps(backend::KernelQueue& queue, core::Range steps, const data::Batch& batch, nn::GradientSink sink,
                backend::LossSum* into, const nn::GradientReady& ready) override;
  void do_score(backend::KernelQueue& queue, const data::Batch& batch, backend::LossSum* into) override;

  std::shared_ptr<const Machine> machine_;
  double weight_deviation_;
  rbm::LayersBelow layers_below_;
  core::Arena below_;
  rbm::Rbm rbm_;
  rbm::Draws draws_;
};

/// options must outlive the returned function and its learners.
MakeLearner rbm_learners(std::shared_ptr<const Machine> machine, const TrainingOptions& options, int rank);

}  // namespace paragrad::train
