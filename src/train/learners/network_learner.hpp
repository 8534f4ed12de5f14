#pragma once

#include <memory>

#include "nn/model.hpp"
#include "train/learners/backprop_learner.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// A network and its loss.
class NetworkLearner : public BackpropLearner {
 public:
  /// rows_per_sample: maximum; more than 1 for recurrent networks, whose samples are sequences.
  NetworkLearner(backend::Device& device, std::shared_ptr<const nn::Network> network, const TrainingOptions& options,
                 std::size_t minibatch, bool bare_gradient, std::size_t rows_per_sample = 1);

  std::size_t inputs() const override { return model_.inputs(); }
  std::size_t outputs() const { return model_.outputs(); }
  std::size_t largest_batch() const override { return model_.max_batch() / rows_per_sample_; }

 private:
  void do_initialise(std::uint64_t seed, std::span<float> model) const override { model_.initialise(seed, model); }
  std::size_t layer_count() const override { return model_.layer_count(); }
  core::Range range_of(std::size_t layer) const override { return model_.range_of(layer); }
  void do_pass(const data::Batch& batch, backend::LossSum* into) override;
  void do_backward(std::size_t layer, const data::Batch& batch, nn::GradientSink sink,
                   const nn::GradientReady& ready) override {
    model_.backward_layer(layer, parameters(), batch, sink, ready);
  }

  std::shared_ptr<const nn::Network> network_;
  std::size_t rows_per_sample_;
  nn::Model model_;
  nn::Loss loss_;
};

/// options must outlive the returned function and its learners.
MakeLearner network_learners(std::shared_ptr<const nn::Network> network, const TrainingOptions& options,
                             std::size_t rows_per_sample = 1);

}  // namespace paragrad::train
