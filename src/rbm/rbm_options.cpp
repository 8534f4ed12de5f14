#include "rbm/rbm_options.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::rbm {

VisibleUnits parse_visible_units(std::string_view name) {
  if (name == "binomial") return VisibleUnits::binomial;
  if (name == "gaussian") return VisibleUnits::gaussian;
  throw core::unknown_name("kind of visible units", name, {"binomial", "gaussian"});
}

void RbmOptions::describe(core::OptionList& list) {
  list.number("cd-steps", cd_steps, {.least = 1, .most = 100000}, "Gibbs steps k of contrastive divergence (CD-k)");
  list.flag("persistent-chains", persistent,
            "continue the Gibbs chains of the previous update (persistent contrastive divergence, PCD)");
  list.flag("sample-reconstructions", sample_visible, "sample reconstructed visible states; false: use their means");
  list.number("sparsity-target", sparsity_target, core::a_share, "target fraction of samples for which a hidden unit is on")
      .when(sparsity_cost > 0, "has no effect without `sparsity-cost`: give both", "sparsity-cost");
  list.number("sparsity-cost", sparsity_cost, core::zero_or_more,
              "strength with which hidden biases are pulled towards the sparsity target (0: none)")
      .off("0");
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
