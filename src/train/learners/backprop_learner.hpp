#pragma once

#include "nn/gradient_sink.hpp"
#include "train/learners/learner.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// A model trained by backpropagation in steps, each of which may complete a range of the gradient. Of all micro-batches but
/// the last, the first stage of a gradient does the whole backward pass.
class BackpropLearner : public Learner {
 public:
  std::vector<Stage> stages(std::size_t elements) const override;
  std::size_t gradient(backend::KernelQueue& queue, const Stage& stage, const MicroBatch& part, const optim::Step& step,
                       backend::LossSum* into) override;
  std::size_t descend(backend::KernelQueue& queue, const MicroBatch& part, const optim::Step& step,
                      backend::LossSum* into) override;
  std::size_t evaluate(backend::KernelQueue& queue, const MicroBatch& part, backend::LossSum* into) override;

 protected:
  using Learner::Learner;

  /// Number of samples that the buffers hold at once.
  static std::size_t micro_batch(const TrainingOptions& options, std::size_t minibatch);

  /// Forward, loss and the whole backward pass, which tells ready() of ranges of the gradient that are complete.
  std::size_t pass(backend::KernelQueue& queue, const MicroBatch& part, nn::GradientSink sink, backend::LossSum* into,
                   const nn::GradientReady& ready);
  nn::GradientSink sink_of(const MicroBatch& part, const optim::Step& step);

  /// Some steps of the backward pass; before the first of all, the forward pass and the loss. Called for all steps in order.
  virtual void do_steps(backend::KernelQueue& queue, core::Range steps, const data::Batch& batch, nn::GradientSink sink,
                        backend::LossSum* into, const nn::GradientReady& ready) = 0;

 private:
  virtual std::size_t step_count() const = 0;
  virtual core::Range completed_by(
      std::size_t step) const = 0;  ///< the ranges go from the parameters' end to their beginning

  /// Scores the parameters on the samples.
  virtual void do_score(backend::KernelQueue& queue, const data::Batch& batch, backend::LossSum* into) = 0;

  virtual void run_kernels(backend::KernelQueue& queue, const std::function<void(backend::KernelQueue&)>& kernels) {
    kernels(queue);
  }
};

}  // namespace paragrad::train
