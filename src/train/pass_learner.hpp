#pragma once

#include "nn/layer.hpp"
#include "train/learner.hpp"

namespace paragrad::train {

/// A chain of layers whose gradient comes from a pass forward and one back. A minibatch larger than the buffers is processed
/// in pieces whose gradients add up, all but the last piece in the first stage.
class PassLearner : public Learner {
 public:
  std::vector<Stage> stages(std::size_t elements) const override;
  backend::LossSum gradient(const Stage& stage, std::size_t samples, const NextBatch& next,
                            const optim::Step& step) override;
  backend::LossSum descend(std::size_t samples, const NextBatch& next, const optim::Step& step) override;
  backend::LossSum evaluate(std::size_t samples, const NextBatch& next) override;

 protected:
  using Learner::Learner;

  /// Of samples that the buffers hold at once.
  static std::size_t piece(std::size_t minibatch);

  /// All of a minibatch up to the loss of its last piece; and what of it is left, layer by layer from the last.
  backend::LossSum pass_until_last_loss(std::size_t samples, const NextBatch& next, float keep);
  nn::GradientSink sink_of_last_piece(std::size_t samples, float keep);
  void backward(nn::GradientSink sink, const nn::GradientReady& ready);

 private:
  virtual std::size_t layer_count() const = 0;
  virtual core::Range range_of(std::size_t layer) const = 0;  ///< of the parameters

  /// Forward pass and loss, whose gradient then lies where the backward pass begins.
  virtual backend::LossSum do_pass(const data::Batch& batch) = 0;

  /// What the samples say of the parameters.
  virtual backend::LossSum do_score(const data::Batch& batch) { return do_pass(batch); }

  /// Every layer once, from the last to the first. See nn::Model.
  virtual void do_backward(std::size_t layer, const data::Batch& batch, nn::GradientSink sink,
                           const nn::GradientReady& ready) = 0;

  virtual void run_kernels(const std::function<void(backend::Device&)>& kernels) { kernels(device()); }

  data::Batch last_piece_;  // of the minibatch in hand
};

}  // namespace paragrad::train
