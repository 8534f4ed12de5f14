#pragma once

#include <memory>

#include "nn/model.hpp"
#include "train/learners/backprop_learner.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// A network and its loss.
class NetworkLearner : public BackpropLearner {
 public:
  /// rows_per_sample: maximum; more than 1 for recurrent networks, whose samples are sequences. peers: if the graph is a
  /// part of a network.
  NetworkLearner(backend::Device& device, std::shared_ptr<const nn::Graph> graph, const TrainingOptions& options,
                 std::size_t minibatch, bool bare_gradient, std::size_t rows_per_sample = 1,
                 std::unique_ptr<nn::ReplicaPeers> peers = nullptr);

  std::size_t inputs() const override { return model_.graph().inputs(); }
  bool reads_tokens() const override { return model_.graph().tokens().has_value(); }
  std::size_t largest_batch() const override { return model_.max_rows() / rows_per_sample_; }
  std::size_t model_size() const override { return model_.graph().model_size(); }
  void restore(std::span<const float> model) override;
  std::vector<float> snapshot() override;
  void begin_epoch(int epoch) override { model_.draw(seed_, static_cast<std::uint32_t>(epoch)); }
  void describe_state(core::StateView& state) override;
  std::span<float> buffers() override { return model_.buffers(); }

 protected:
  void do_steps(backend::KernelQueue& queue, core::Range steps, const data::Batch& batch, nn::GradientSink sink,
                backend::LossSum* into, const nn::GradientReady& ready) override;

 private:
  void do_initialise(std::uint64_t seed, std::span<float> model) const override { model_.graph().initialise(seed, model); }
  std::size_t step_count() const override { return model_.step_count(); }
  core::Range completed_by(std::size_t step) const override { return model_.completed_by(step); }
  void do_score(backend::KernelQueue& queue, const data::Batch& batch, backend::LossSum* into) override;

  std::uint64_t seed_;
  std::size_t rows_per_sample_;
  std::unique_ptr<nn::ReplicaPeers> peers_;
  nn::Model model_;
  std::unique_ptr<const nn::Loss> loss_, loss_of_scores_;
  const nn::Node* needs_two_rows_;
};

/// options must outlive the returned function and its learners.
MakeLearner network_learners(std::shared_ptr<const nn::Graph> graph, const TrainingOptions& options,
                             std::size_t rows_per_sample = 1);

}  // namespace paragrad::train
