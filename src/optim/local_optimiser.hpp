#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernels.hpp"
#include "core/arena.hpp"
#include "core/layout.hpp"
#include "core/range.hpp"
#include "core/state_view.hpp"

namespace paragrad::optim {

/// One minibatch's step, in terms of the summed gradient of its samples.
struct Step {
  float rate = 0;      ///< learning rate per sample
  float decay = 0;     ///< L2: samples of the minibatch times the strength λ of λ/2·|w|² per sample
  float momentum = 0;  ///< μ, of rules that have one
  float samples = 1;   ///< whose gradients are summed, on all workers that exchange them: for rules that need a mean

  void describe_state(core::StateView& state, const std::string& prefix) {
    state.add(prefix + "/rate", rate);
    state.add(prefix + "/decay", decay);
    state.add(prefix + "/momentum", momentum);
    state.add(prefix + "/samples", samples);
  }
};

/// Exponential means that a rule keeps of gradients and of their squares, and since how many steps.
struct Moments {
  std::span<float> first;
  std::span<float> second;
  double beta1;   ///< of itself the first keeps this much at each step
  double beta2;   ///< the second likewise
  double* steps;  ///< by which the rule takes out their bias; need not be whole
};

/// A local update rule on the flat arenas of one replica. Owns gradient and velocity; knows no layers.
class LocalOptimiser {
 public:
  virtual ~LocalOptimiser() = default;

  /// Where backward writes: gradients = keep·gradients + new gradient.
  virtual std::span<float> gradients() = 0;
  virtual float keep(const Step& step) const = 0;

  /// True if update() is no more than parameters -= rate·(gradients += decay·parameters), so that backward may do it itself.
  virtual bool descends() const = 0;

  /// Moves a finished range of the parameters; arithmetic on `device` alone. The ranges of a minibatch come from the end of
  /// the parameters to their beginning and cover them once; a device that does not compute may be handed them before, to ask
  /// what they cost.
  virtual void update(backend::Device& device, core::Range range, Step step, std::span<float> parameters) = 0;

  /// True if update() must be handed all parameters at once, as it looks at whole matrices.
  virtual bool needs_all() const { return false; }

  /// What the rule remembers from minibatch to minibatch.
  virtual void describe_state(core::StateView& state) = 0;

  /// For strategies that filter them; nothing where a rule has none.
  virtual std::optional<Moments> moments() { return std::nullopt; }

  /// Forgets it.
  virtual void forget(backend::Device& device) = 0;

  /// From now on backward writes into `other`, which is as long, and the arena of before is the caller's: so that one
  /// gradient can travel while the next is computed. Only where keep() is 0.
  virtual void swap_gradients(core::Arena& other) = 0;
};

struct OptimiserOptions {
  std::string name = "momentum";  ///< of optim/catalogue.def
  bool has_momentum = true;       ///< Step::momentum will be above 0 at times
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double lars_trust = 0.001;   ///< share of a matrix's norm that it moves at rate 1
  double adam_epsilon = 1e-8;  ///< beside the root mean square of the mean gradient; adagrad: beside the root of the sum

  // Around any rule, see limited.hpp.
  double clip_per_sample = 0;     ///< threshold of gradient clipping; 0: none
  std::string clip = "truncate";  ///< or norm
  double max_norm = 0;            ///< of the weights by which a unit sees its inputs; 0: any
};

/// Whether gradients or weights are limited.
inline bool has_limits(const OptimiserOptions& options) { return options.clip_per_sample > 0 || options.max_norm > 0; }

/// Without them.
OptimiserOptions without_limits(OptimiserOptions options);

/// The rule's name, with what of its limits looks at whole matrices.
std::string describe(const OptimiserOptions& options);

/// From optim/catalogue.def:
///   sgd       w -= rate·g
///   momentum  v = μv + g, w -= rate·v            (classical momentum)
///   nesterov  v = μv + g, w -= rate·(g + μv)     (Sutskever et al., ICML 2013, in the form of Bengio et al.)
///   adam, adamw                                  (see adam.hpp)
///   adagrad                                      (see adagrad.cpp)
///   lars                                         (see lars.hpp)
/// with μ and rate of the step in hand (Step).
///
/// bare_gradient: backward must deliver the gradient by itself, because it is exchanged before it is used; costs one more
/// arena where classical momentum would otherwise accumulate in place.
///
/// With limits around it, if the options have any (limited.hpp).
///
/// layout: the matrices that make up the parameters; must outlive the optimiser.
/// Throws ConfigError: unknown name, numbers that make no sense.
std::unique_ptr<LocalOptimiser> make_optimiser(const OptimiserOptions& options, backend::Device& device,
                                               std::span<const core::Matrix> layout, bool bare_gradient);

struct OptimiserEntry {
  std::string name;
  std::string options;  ///< names of those that it uses and not every rule does, separated by spaces
  std::string description;
};
std::vector<OptimiserEntry> optimiser_catalogue();
std::vector<std::string> optimiser_names();

/// Whether Step::momentum means anything to the rule. Throws ConfigError: unknown name.
bool heeds_momentum(std::string_view name);

}  // namespace paragrad::optim
