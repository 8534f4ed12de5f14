#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "optim/limited.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {
namespace {

std::size_t parameters_of(std::span<const core::Matrix> layout) { return layout.empty() ? 0 : layout.back().range().end; }

void check_limits(const OptimiserOptions& options) {
  if (!(options.clip_per_sample >= 0) || !std::isfinite(options.clip_per_sample))
    throw core::ConfigError(
        core::format("gradients cannot be clipped at {} per sample: give a number above 0, or 0 for no clipping",
                     options.clip_per_sample));
  if (!(options.max_norm >= 0) || !std::isfinite(options.max_norm))
    throw core::ConfigError(
        core::format("{} is not a valid max norm: give a number above 0, or 0 for no limit", options.max_norm));
  if (options.clip != "truncate" && options.clip != "norm")
    throw core::unknown_name("gradient clipping mode", options.clip, {"truncate", "norm"});
}

}  // namespace

backend::RuleNumbers numbers_of(const OptimiserOptions& options, const backend::RuleNumbers& defaults) {
  const backend::RuleNumbers numbers{options.beta1.value_or(defaults.beta1), options.beta2.value_or(defaults.beta2),
                                     options.epsilon.value_or(defaults.epsilon)};
  for (const double beta : {numbers.beta1, numbers.beta2})
    if (!(beta >= 0 && beta < 1)) throw core::ConfigError(core::format("beta {} is outside [0, 1)", beta));
  if (defaults.epsilon > 0 && !(numbers.epsilon > 0))
    throw core::ConfigError(core::format("epsilon {} must be above 0", numbers.epsilon));
  return numbers;
}

OptimiserOptions without_limits(OptimiserOptions options) {
  options.clip_per_sample = options.max_norm = 0;
  return options;
}

std::string describe(const OptimiserOptions& options) {
  std::string text = options.name;
  if (options.clip_per_sample > 0 && options.clip == "norm") text += " with gradients clipped by norm";
  if (options.max_norm > 0) text += " with max-norm";
  return text;
}

std::unique_ptr<LocalOptimiser> make_optimiser(const OptimiserOptions& options, backend::Device& device,
                                               std::span<const core::Matrix> layout, bool bare_gradient) {
  check_limits(options);
  if (has_limits(options))
    return std::make_unique<Limited>(options, make_optimiser(without_limits(options), device, layout, true), layout);
  const OptimiserContext optimiser_context{options, device, layout, parameters_of(layout), bare_gradient};
#define OPTIMISER(known, options_used, description) \
  if (options.name == #known) return make_##known(optimiser_context);
#include "optim/catalogue.def"
#undef OPTIMISER
  throw core::unknown_name("optimiser", options.name, optimiser_names());
}

std::vector<OptimiserEntry> optimiser_catalogue() {
  return {
#define OPTIMISER(name, options, description) {#name, options, description},
#include "optim/catalogue.def"
#undef OPTIMISER
  };
}

std::vector<std::string> optimiser_names() {
  std::vector<std::string> names;
  for (const OptimiserEntry& entry : optimiser_catalogue()) names.push_back(entry.name);
  return names;
}

bool heeds_momentum(std::string_view name) {
  for (const OptimiserEntry& entry : optimiser_catalogue())
    if (entry.name == name) return (entry.options + " ").starts_with("momentum ");
  throw core::unknown_name("optimiser", name, optimiser_names());
}

}  // namespace paragrad::optim
