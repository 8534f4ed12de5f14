#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/kernels.hpp"
#include "core/arena.hpp"
#include "nn/model.hpp"
#include "optim/local_optimiser.hpp"
#include "train/feed.hpp"
#include "train/options.hpp"

namespace paragrad::train {

/// Loss per sample and share of samples in error; NaN for an empty subset, and where nothing was computed.
struct Score {
  double loss = 0;
  double error = 0;
};

/// Hands out the next samples, at most as many as asked for.
using NextBatch = std::function<data::Batch(std::size_t)>;

/// One worker's replica: model, parameters, local optimiser.
class Learner {
 public:
  /// minibatch: the largest that this worker will see. bare_gradient: see optim::make_optimiser.
  Learner(backend::Device& device, std::shared_ptr<const nn::Network> network, const Options& options, std::size_t minibatch,
          bool bare_gradient);

  nn::Model& model() { return model_; }
  std::span<const core::Matrix> layout() const { return network_->layout; }
  std::span<float> parameters() { return parameters_.span(); }
  optim::LocalOptimiser& optimiser() { return *optimiser_; }

  // The host's only ways to the parameters; on a device that does not compute there is nothing to be had or changed.
  bool computes() const { return device_.computes(); }
  void initialise(std::uint64_t seed);
  void restore(std::span<const float> parameters);
  std::vector<float> snapshot() const;    ///< empty on a device that does not compute
  std::string parameters_sha256() const;  ///< likewise

  /// Means of sums over `samples` samples: NaN if there are none, or nothing was computed.
  Score score(double loss, double errors, double samples) const;

  /// A stage of computing a gradient: the backward pass of neighbouring layers, and what of the gradient they complete. The
  /// first stage, that of the last layers, begins with the forward pass.
  struct Stage {
    core::Range layers;
    core::Range elements;
  };

  /// Cuts the backward pass into stages that complete `elements` of the gradient each, or a little more; the last what is
  /// left.
  std::vector<Stage> stages(std::size_t elements) const;

  /// One stage of forward, loss and backward over `samples` samples (none: a gradient of zero); to be called for all stages
  /// in their order. A minibatch larger than the model's buffers is processed in pieces whose gradients add up, all but the
  /// last piece in the first stage. Returns the loss in the first stage, nothing in the others.
  backend::LossSum gradient(const Stage& stage, std::size_t samples, const NextBatch& next, const optim::Step& step);

  /// Forward, loss, backward and the local update.
  backend::LossSum descend(std::size_t samples, const NextBatch& next, const optim::Step& step);

  /// Loss of `samples` samples.
  backend::LossSum evaluate(std::size_t samples, const NextBatch& next);

 private:
  backend::LossSum pass_until_last_loss(std::size_t samples, const NextBatch& next, float keep);
  nn::GradientSink sink_of_last_piece(std::size_t samples, float keep);

  backend::Device& device_;
  std::shared_ptr<const nn::Network> network_;
  nn::Model model_;
  nn::Loss loss_;
  core::Arena parameters_;
  data::Batch last_piece_;  // of the minibatch in hand
  std::unique_ptr<optim::LocalOptimiser> optimiser_;
};

/// What a learner's work costs on `device`, found out on one that only counts. The simulator needs to know beforehand how
/// long a worker will be busy.
class LearnerCost {
 public:
  LearnerCost(const backend::Device& device, std::shared_ptr<const nn::Network> network, const Options& options,
              std::size_t minibatch, bool bare_gradient);

  /// Of each stage of a gradient.
  std::vector<backend::WorkMeter> gradient(const std::vector<Learner::Stage>& stages, std::size_t samples);
  backend::WorkMeter descend(std::size_t samples);
  backend::WorkMeter evaluate(std::size_t samples);

 private:
  backend::WorkMeter count(const std::function<void()>& work);

  std::unique_ptr<backend::Device> meta_;
  Learner learner_;
  ImaginaryBatches batches_;
  NextBatch next_;
};

}  // namespace paragrad::train
