#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/kernels.hpp"
#include "core/arena.hpp"
#include "core/json.hpp"
#include "core/state_view.hpp"
#include "data/batch.hpp"
#include "optim/local_optimiser.hpp"

namespace paragrad::train {

/// Loss per sample and share of samples in error; NaN for an empty subset, and where nothing was computed.
struct Score {
  double loss = 0;
  double error = 0;
  double free_energy = 0;  ///< per sample, where what is trained has one
};

/// Sums over samples.
struct SampleSums {
  double loss = 0;
  double errors = 0;
  double samples = 0;
  double free_energy = 0;
};

/// Hands out the next samples, at most as many as asked for.
using NextBatch = std::function<data::Batch(std::size_t)>;

/// One worker's replica of what is trained: flat parameters, their update rule, and a way from samples to a gradient.
class Learner {
 public:
  virtual ~Learner() = default;

  virtual std::size_t inputs() const = 0;         ///< of a sample
  virtual std::size_t largest_batch() const = 0;  ///< that NextBatch is asked for

  std::span<const core::Matrix> layout() const { return layout_; }
  std::span<float> parameters() { return parameters_.span(); }
  optim::LocalOptimiser& optimiser() { return *optimiser_; }

  // The host's only ways to the parameters; on a device that does not compute there is nothing to be had or changed.
  bool computes() const { return device_.computes(); }
  void initialise(std::uint64_t seed);
  virtual std::size_t model_size() const { return parameters_.size(); }  ///< of what restore() takes and snapshot() gives
  virtual void restore(std::span<const float> model);                    ///< nothing: does nothing
  virtual std::vector<float> snapshot();                                 ///< empty on a device that does not compute
  std::string model_sha256();                                            ///< of the snapshot; likewise

  /// Means of sums over `samples` samples: NaN if there are none, or nothing was computed.
  Score score(const SampleSums& sums) const;

  /// What the scores of an epoch are called: in its record, and in a line for the user.
  virtual core::Json record(const Score& train, const Score& valid) const;
  virtual std::string describe(const Score& train, const Score& valid) const;

  /// Whether evaluate() tells free energies, of which those of training samples are wanted beside the others.
  virtual bool has_free_energy() const { return false; }

  /// Before the minibatches of an epoch, counted from 1.
  virtual void begin_epoch(int /*epoch*/) {}

  /// What it remembers from minibatch to minibatch, beside parameters and optimiser.
  virtual void describe_state(core::StateView&) {}

  /// Whether the replica is one of several workers', who talk to each other while they compute, and call everything
  /// together: snapshot() too. What follows is then no computation of a Worker's, but makes them.
  virtual bool talks() const { return false; }

  /// A stage of computing a gradient: the backward pass of neighbouring layers, and what of the gradient they complete. The
  /// first stage, that of the last layers, begins with the forward pass.
  struct Stage {
    core::Range layers;
    core::Range elements;
  };

  /// Cuts the backward pass into stages that complete `elements` of the gradient each, or a little more; the last what is
  /// left.
  virtual std::vector<Stage> stages(std::size_t elements) const = 0;

  // Losses are added to *into, memory of the device. What is returned is how many rows have one.

  /// One stage of forward, loss and backward over `samples` samples (none: a gradient of zero); to be called for all stages
  /// in their order. The loss is the first stage's; the others have none.
  virtual std::size_t gradient(const Stage& stage, std::size_t samples, const NextBatch& next, const optim::Step& step,
                               backend::LossSum* into) = 0;

  /// Forward, loss, backward and the local update.
  virtual std::size_t descend(std::size_t samples, const NextBatch& next, const optim::Step& step,
                              backend::LossSum* into) = 0;

  /// Loss of `samples` samples.
  virtual std::size_t evaluate(std::size_t samples, const NextBatch& next, backend::LossSum* into) = 0;

 protected:
  /// layout: of the parameters; must outlive the learner.
  Learner(backend::Device& device, std::span<const core::Matrix> layout, const optim::OptimiserOptions& rule,
          bool bare_gradient);
  backend::Device& device() { return device_; }

 private:
  /// Fills host memory of model_size(); the numbers depend on the seed alone.
  virtual void do_initialise(std::uint64_t seed, std::span<float> model) const = 0;

  backend::Device& device_;
  std::span<const core::Matrix> layout_;
  core::Arena parameters_;
  std::unique_ptr<optim::LocalOptimiser> optimiser_;
};

/// Makes replicas of one kind: a worker's own, and one on a device that counts, to ask what work costs.
/// minibatch: the largest that will be seen. bare_gradient: see optim::make_optimiser.
using MakeLearner =
    std::function<std::unique_ptr<Learner>(backend::Device& device, std::size_t minibatch, bool bare_gradient)>;

}  // namespace paragrad::train
