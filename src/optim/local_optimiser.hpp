#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.hpp"
#include "core/arena.hpp"
#include "core/layout.hpp"
#include "core/options.hpp"
#include "core/range.hpp"
#include "core/state_view.hpp"

namespace paragrad::optim {

/// One minibatch's step, in terms of the summed gradient of its samples.
struct Step {
  float rate = 0;      ///< learning rate per sample
  float decay = 0;     ///< L2: samples of the minibatch times λ, the strength of λ/2·|w|² per sample
  float momentum = 0;  ///< μ, for rules that use it
  float samples = 1;   ///< number of summed gradients, over all workers that exchange them: for rules that need a mean

  void describe_state(core::StateView& state, const std::string& prefix) {
    state.add(prefix + "/rate", rate, core::Rescale::equal);
    state.add(prefix + "/decay", decay, core::Rescale::equal);
    state.add(prefix + "/momentum", momentum, core::Rescale::equal);
    state.add(prefix + "/samples", samples, core::Rescale::equal);
  }
};

/// Whether the momentum of an update depends on its samples.
struct MomentumUnit {
  bool per_sample = false;   ///< it is a time constant: exp(-n/T) for n samples. Otherwise it is per update
  bool scales_rate = false;  ///< then the rate is proportional to 1 - momentum, see train::StepSizes
};

/// `step` for one update with its own samples and those of `other`. Rate and momentum are those of `step`, converted to the
/// samples of both if the momentum depends on them.
inline Step joined(Step step, const Step& other, MomentumUnit unit) {
  step.decay += other.decay;
  step.samples += other.samples;
  if (!unit.per_sample) return step;
  const float momentum = step.momentum * other.momentum;
  if (unit.scales_rate) step.rate *= (1 - momentum) / (1 - step.momentum);
  step.momentum = momentum;
  return step;
}

inline Step without_decay(Step step) {
  step.decay = 0;
  return step;
}

/// A rule's exponential means of gradients and of their squares, and the number of steps they cover.
struct Moments {
  std::span<float> first;
  std::span<float> second;
  double beta1;   ///< decay of the first mean per step
  double beta2;   ///< decay of the second mean per step
  double* steps;  ///< used for bias correction; need not be an integer
};

/// A local update rule on the flat arenas of one replica. Owns gradient and velocity; independent of layers.
class LocalOptimiser {
 public:
  virtual ~LocalOptimiser() = default;

  /// The arena that the backward pass writes: gradients = keep·gradients + new gradient.
  virtual std::span<float> gradients() = 0;
  virtual float keep(const Step& step) const = 0;

  /// True if update() is just parameters -= rate·(gradients += decay·parameters), so that the backward pass may fuse it.
  virtual bool descends() const = 0;

  /// Called before the updates of a minibatch.
  virtual void begin_step() {}

  /// Updates a finished range of the parameters by kernels alone, and changes nothing of the state. Called outside a step to
  /// count its work, which no step may fall below. The ranges of a minibatch come
  /// from the end of the parameters to their beginning and cover them once.
  virtual void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) = 0;

  /// True if update() needs all parameters at once, because it works on whole matrices.
  virtual bool needs_all() const { return false; }

  /// Adds the state that the rule keeps between minibatches, and says what each array grows with.
  virtual void describe_state(core::StateView& state) = 0;

  /// For strategies that filter moments; nullopt if the rule has none.
  virtual std::optional<Moments> moments() { return std::nullopt; }

  /// Resets that state.
  virtual void forget(backend::KernelQueue& queue) = 0;

  /// Exchanges the gradient arena with `other`, which has the same length, so that one gradient can be sent while the next
  /// is computed. Only if keep() is 0.
  virtual void swap_gradients(core::Arena& other) = 0;
};

struct OptimiserOptions {
  std::string name = "momentum";  ///< of optim/catalogue.def
  core::Settings settings{};      ///< the rule's own options
  bool has_momentum = true;       ///< Step::momentum may become positive

  std::string l2_on = "all";  ///< parameters, or weights: all but biases and other vectors, see decay_of_weights.hpp

  // Around any rule, see limited.hpp.
  double clip_per_sample = 0;     ///< threshold of gradient clipping; 0: none
  std::string clip = "truncate";  ///< or norm, global
  double max_norm = 0;            ///< of each unit's incoming weights; 0: no limit
};

inline bool decays_all(const OptimiserOptions& options) { return options.l2_on == "all"; }

/// Whether gradients or weights are limited.
inline bool has_limits(const OptimiserOptions& options) { return options.clip_per_sample > 0 || options.max_norm > 0; }

/// The same options without limits.
OptimiserOptions without_limits(OptimiserOptions options);

/// The rule's name, with those of its limits that work on whole matrices.
std::string describe(const OptimiserOptions& options);

/// From optim/catalogue.def:
///   sgd       w -= rate·g
///   momentum  v = μv + g, w -= rate·v            (classical momentum)
///   nesterov  v = μv + g, w -= rate·(g + μv)     (Sutskever et al., ICML 2013, in the form of Bengio et al.)
///   adam, adamw                                  (see adam.cpp)
///   lars, muon, qhm, delayed_nesterov            (see the files of these names)
///   adagrad, adadelta, rmsprop, lion             (see backend/update_rules/)
/// with μ and rate of the current step (Step).
///
/// bare_gradient: the backward pass must deliver the plain gradient, because it is exchanged before use; costs one more
/// arena for classical momentum, which would otherwise accumulate in place.
///
/// The rule is wrapped in limits if the options have any (limited.hpp), and where L2 is on weights alone.
///
/// layout: the matrices that make up the parameters; must outlive the optimiser.
/// Throws ConfigError for an unknown name, a setting that the rule does not have, or invalid numbers.
std::unique_ptr<LocalOptimiser> make_optimiser(const OptimiserOptions& options, backend::Device& device,
                                               std::span<const core::Matrix> layout, bool bare_gradient);

core::CatalogueInfo optimiser_catalogue();

/// Whether the rule uses Step::momentum. Throws ConfigError for an unknown name.
bool heeds_momentum(std::string_view name);

/// Whether the rule takes the mean of gradients, so that their contributions do not grow with Step::momentum. Likewise.
bool has_unit_gain(std::string_view name);

/// The learning rate per minibatch (of its mean gradient) that publications and libraries start from; 0: it depends on the
/// task. Likewise.
double customary_rate(std::string_view name);

/// "adam 0.001, adagrad 0.01": those that have one.
std::string customary_rates();

}  // namespace paragrad::optim
