#include "rbm/rbm_options.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::rbm {

VisibleUnits parse_visible_units(std::string_view name) {
  if (name == "binomial") return VisibleUnits::binomial;
  if (name == "gaussian") return VisibleUnits::gaussian;
  throw core::unknown_name("kind of visible units", name, {"binomial", "gaussian"});
}

void check(const RbmOptions& options) {
  if (options.cd_steps < 1)
    throw core::ConfigError(core::format("contrastive divergence needs at least one step, not {}", options.cd_steps));
  if (!(options.sparsity_target >= 0 && options.sparsity_target <= 1))
    throw core::ConfigError(core::format("the sparsity target must be from 0 to 1, not {}", options.sparsity_target));
  if (!(options.sparsity_cost >= 0))
    throw core::ConfigError(core::format("the sparsity cost must be at least 0, not {}", options.sparsity_cost));
}

Activations parse_activations(std::string_view name) {
  if (name == "sampled") return Activations::sampled;
  if (name == "mean") return Activations::mean;
  throw core::unknown_name("kind of activations", name, {"sampled", "mean"});
}

}  // namespace paragrad::rbm
