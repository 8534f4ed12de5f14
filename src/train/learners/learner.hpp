#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "backend/loss_sum.hpp"
#include "core/arena.hpp"
#include "core/json_fwd.hpp"
#include "core/state_view.hpp"
#include "data/batch.hpp"
#include "optim/local_optimiser.hpp"

namespace paragrad::train {

/// Loss per sample, and error rate or, for real-valued targets, unexplained share of their variance (TrainingData::sums);
/// NaN for an empty subset or if nothing was computed.
struct Score {
  double loss = 0;
  double error = 0;
  double free_energy = 0;  ///< per sample, for models that have one
};

/// Sums over samples.
struct SampleSums {
  double loss = 0;
  double errors = 0;
  double samples = 0;
  double free_energy = 0;
};

/// The part of a minibatch that is computed at once: all of it, unless a learner holds less. If a worker has no samples of a
/// minibatch, it has one empty micro-batch.
struct MicroBatch {
  data::Batch batch{};
  bool first = true;  ///< of its minibatch
  bool last = true;
};

/// One worker's replica of a model: flat parameters, their update rule, and the computation of a gradient from samples.
class Learner {
 public:
  virtual ~Learner() = default;

  virtual std::size_t inputs() const = 0;              ///< per sample
  virtual bool reads_tokens() const { return false; }  ///< instead of features
  virtual std::size_t largest_batch() const = 0;       ///< maximum number of samples in a micro-batch

  std::span<const core::Matrix> layout() const { return layout_; }
  std::span<float> parameters() { return parameters_.span(); }
  core::Arena& memory() { return parameters_; }  ///< of the parameters
  optim::LocalOptimiser& optimiser() { return *optimiser_; }

  // The host's only access to the parameters; has no effect on a device that does not compute.
  bool computes() const { return device_.computes(); }
  void initialise(std::uint64_t seed);
  virtual std::size_t model_size() const {
    return parameters_.size();
  }                                                    ///< length of what restore() takes and snapshot() returns
  virtual void restore(std::span<const float> model);  ///< empty: does nothing
  virtual std::vector<float> snapshot();               ///< empty on a device that does not compute

  /// Converts sums to means: NaN if there are no samples or nothing was computed.
  Score score(const SampleSums& sums) const;

  /// The scores of an epoch as its record, and as a line for the user.
  virtual core::Json record(const Score& train, const Score& valid) const;
  virtual std::string describe(const Score& train, const Score& valid) const;

  /// Whether evaluate() returns free energies; then training samples are evaluated too, for comparison with the others.
  virtual bool has_free_energy() const { return false; }

  /// Called before the minibatches of an epoch, counted from 1.
  virtual void begin_epoch(int /*epoch*/) {}

  /// State carried from minibatch to minibatch, other than parameters and optimiser state.
  virtual void describe_state(core::StateView&) {}

  /// State that is neither parameter nor optimiser state, which workers replace by their mean at the end of an
  /// epoch and before other validations.
  virtual std::span<float> buffers() { return {}; }

  /// Whether several workers hold the replica together. They then communicate while they compute, and make all calls
  /// together, snapshot() included; the calls below communicate and must not run inside Worker::compute.
  virtual bool talks() const { return false; }

  /// A stage of computing a gradient: steps of the backward pass, and the part of the gradient that they complete. The first
  /// stage begins with the forward pass.
  struct Stage {
    core::Range steps;
    core::Range elements;
  };

  /// Cuts the backward pass into stages that each complete `elements` of the gradient or slightly more; the last stage
  /// completes the rest.
  virtual std::vector<Stage> stages(std::size_t elements) const = 0;

  // The following run kernels, on the device or on a queue that only counts: then nothing changes, and batches need have
  // sizes only. They add losses to *into, device memory, and return how many rows have a loss. The micro-batches of a
  // minibatch come in order (class Minibatch), and their gradients accumulate.

  /// One stage of forward, loss and backward (no samples: a gradient of zero). The first stage is called for all
  /// micro-batches and computes their losses, the others are called in order for the last one.
  virtual std::size_t gradient(backend::KernelQueue& queue, const Stage& stage, const MicroBatch& part,
                               const optim::Step& step, backend::LossSum* into) = 0;

  /// Forward, loss, backward and, with the last micro-batch, the local update.
  virtual std::size_t descend(backend::KernelQueue& queue, const MicroBatch& part, const optim::Step& step,
                              backend::LossSum* into) = 0;

  /// Loss alone.
  virtual std::size_t evaluate(backend::KernelQueue& queue, const MicroBatch& part, backend::LossSum* into) = 0;

 protected:
  /// layout: of the parameters; must outlive the learner.
  Learner(backend::Device& device, std::span<const core::Matrix> layout, const optim::OptimiserOptions& rule,
          bool bare_gradient);
  backend::Device& device() { return device_; }

 private:
  /// Fills host memory of model_size(); the values depend on the seed only.
  virtual void do_initialise(std::uint64_t seed, std::span<float> model) const = 0;

  backend::Device& device_;
  std::span<const core::Matrix> layout_;
  core::Arena parameters_;
  std::unique_ptr<optim::LocalOptimiser> optimiser_;
};

/// Makes replicas of one kind. minibatch: the largest that will occur. bare_gradient: see optim::make_optimiser.
using MakeLearner =
    std::function<std::unique_ptr<Learner>(backend::Device& device, std::size_t minibatch, bool bare_gradient)>;

}  // namespace paragrad::train
