#pragma once

#include <memory>
#include <span>

#include "optim/wrapped_rule.hpp"

namespace paragrad::optim {

/// Limits around another rule. Before the rule, gradient clipping per sample (CNTK's clippingThresholdPerSample): the
/// gradient summed over the n samples of a step is clipped
///
///   truncate  element by element to within ±n·threshold
///   norm      matrix by matrix to a norm of at most n·threshold; biases and peepholes each count as a matrix
///   global    to a norm of at most n·threshold, over all parameters (Pascanu, Mikolov and Bengio, ICML 2013)
///
/// before L2 is added to it, as in CNTK (UpdateWeightsS of its SGD.cpp). Clipping happens where a gradient is used, not
/// where it is computed: with data_parallel on the sum over all workers (n counting all their samples), with parameter
/// servers at the server. n is Step::samples: if samples are sequences, their number times their mean number of scored
/// frames (with ctc, tokens).
///
/// After the rule, max-norm (Srebro and Shraibman, COLT 2005; with dropout Hinton et al., arXiv 1207.0580, 2012): each row
/// of a matrix of the model (the incoming weights of one unit of an affine layer, or of one gate or output of a recurrent
/// layer) is scaled back to max_norm if its norm is larger. Biases, peepholes and all other single columns are left alone.
/// The limit holds after every update of a replica, and therefore for averages of replicas; block momentum and other outer
/// optimisers may exceed it slightly until the next update.
class Limited : public WrappedRule {
 public:
  /// rule: must deliver the bare gradient (see make_optimiser). Throws ConfigError for invalid limits.
  Limited(const OptimiserOptions& options, std::unique_ptr<LocalOptimiser> rule, std::span<const core::Matrix> layout);

  bool needs_all() const override { return clips_norms_ || max_norm_ > 0 || WrappedRule::needs_all(); }
  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override;

 private:
  void clip(backend::KernelQueue& queue, core::Range range, double limit);
  void clip_norms(backend::KernelQueue& queue, double limit);
  void limit_weights(backend::KernelQueue& queue, std::span<float> parameters) const;

  double clip_per_sample_;  // 0: none
  bool clips_norms_, together_;
  double max_norm_;  // 0: none
};

}  // namespace paragrad::optim
