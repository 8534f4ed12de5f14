#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernels.hpp"
#include "core/arena.hpp"
#include "core/range.hpp"

namespace paragrad::optim {

/// One minibatch's step, in terms of the summed gradient of its samples.
struct Step {
  float rate = 0;   ///< learning rate per sample
  float decay = 0;  ///< L2: samples of the minibatch times the strength λ of λ/2·|w|² per sample
};

/// A local update rule on the flat arenas of one replica. Owns gradient and velocity; knows no layers.
class LocalOptimiser {
 public:
  virtual ~LocalOptimiser() = default;

  /// Where backward writes: gradients = keep·gradients + new gradient.
  virtual std::span<float> gradients() = 0;
  virtual float keep() const = 0;

  /// True if update() is no more than parameters -= rate·(gradients += decay·parameters), so that backward may do it itself.
  virtual bool descends() const = 0;

  /// Moves a finished range of the parameters; arithmetic on `device` alone.
  virtual void update(backend::Device& device, core::Range range, Step step, std::span<float> parameters) = 0;

  /// What the rule remembers from minibatch to minibatch; empty where there is nothing.
  virtual std::span<float> velocity() = 0;
};

/// From optim/catalogue.def:
///   sgd       w -= rate·g
///   momentum  v = μv + g, w -= rate·v            (classical momentum)
///   nesterov  v = μv + g, w -= rate·(g + μv)     (Sutskever et al., ICML 2013, in the form of Bengio et al.)
/// bare_gradient: backward must deliver the gradient by itself, because it is exchanged before it is used; costs one more
/// arena where classical momentum would otherwise accumulate in place.
/// Throws ConfigError: unknown name, momentum outside [0, 1).
std::unique_ptr<LocalOptimiser> make_optimiser(std::string_view name, backend::Device& device, std::size_t parameters,
                                               float momentum, bool bare_gradient);

std::vector<std::string> optimiser_names();

}  // namespace paragrad::optim
