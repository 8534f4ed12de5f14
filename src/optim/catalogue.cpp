#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "optim/decay_of_weights.hpp"
#include "optim/limited.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {
namespace {

std::size_t parameters_of(std::span<const core::Matrix> layout) { return layout.empty() ? 0 : layout.back().range().end; }

void check_options(const OptimiserOptions& options) {
  if (!(options.clip_per_sample >= 0) || !std::isfinite(options.clip_per_sample))
    throw core::ConfigError(
        core::format("gradients cannot be clipped at {} per sample: give a number above 0, or 0 for no clipping",
                     options.clip_per_sample));
  if (!(options.max_norm >= 0) || !std::isfinite(options.max_norm))
    throw core::ConfigError(
        core::format("{} is not a valid max norm: give a number above 0, or 0 for no limit", options.max_norm));
  if (const std::vector<std::string> known{"truncate", "norm", "global"};
      std::ranges::find(known, options.clip) == known.end())
    throw core::unknown_name("gradient clipping mode", options.clip, known);
  if (options.l2_on != "all" && options.l2_on != "weights")
    throw core::unknown_name("choice of what L2 applies to", options.l2_on, {"all", "weights"});
}

const std::vector<OptimiserEntry>& optimisers() {
  static const std::vector<OptimiserEntry> entries{
#define OPTIMISER(name) name##_entry(),
#include "optim/catalogue.def"
#undef OPTIMISER
  };
  return entries;
}

}  // namespace

void RuleOptions::describe(core::OptionList& list) {
  list.group("Local optimiser");
  if (published.beta1 > 0)
    list.number("beta1", beta1, core::below_one, "decay rate of the mean gradient (auto: the published one)");
  if (published.beta2 > 0)
    list.number("beta2", beta2, core::below_one,
                "decay rate of the mean squared gradient; lion: of the mean gradient kept for the next step (auto: the "
                "published one)");
  if (published.epsilon > 0)
    list.number("epsilon", epsilon, core::above_zero, "added to the denominator of the update (auto: the published one)");
}

OptimiserOptions without_limits(OptimiserOptions options) {
  options.clip_per_sample = options.max_norm = 0;
  return options;
}

std::string describe(const OptimiserOptions& options) {
  std::string text = options.name;
  if (options.clip_per_sample > 0 && options.clip != "truncate") text += " with gradients clipped by norm";
  if (options.max_norm > 0) text += " with max-norm";
  return text;
}

std::unique_ptr<LocalOptimiser> make_optimiser(const OptimiserOptions& options, backend::Device& device,
                                               std::span<const core::Matrix> layout, bool bare_gradient) {
  check_options(options);
  if (has_limits(options))
    return std::make_unique<Limited>(options, make_optimiser(without_limits(options), device, layout, true), layout);
  const OptimiserContext optimiser_context{options, device, layout, parameters_of(layout), bare_gradient};
  const OptimiserEntry& entry = core::find_entry("optimiser", options.name, optimisers());
  core::check_settings(entry.info, "optimiser", options.settings);
  std::unique_ptr<LocalOptimiser> rule = entry.make(optimiser_context);
  if (decays_all(options) || rule->needs_all()) return rule;
  return std::make_unique<DecayOfWeights>(std::move(rule), layout);
}

core::CatalogueInfo optimiser_catalogue() { return core::info_of("optimiser", "optimisers", optimisers()); }

bool heeds_momentum(std::string_view name) { return core::find_entry("optimiser", name, optimisers()).heeds_momentum; }

double customary_rate(std::string_view name) { return core::find_entry("optimiser", name, optimisers()).customary_rate; }

std::string customary_rates() {
  std::vector<std::string> rates;
  for (const OptimiserEntry& entry : optimisers())
    if (entry.customary_rate > 0) rates.push_back(core::format("{} {}", entry.info.name, entry.customary_rate));
  return core::format("{}", core::join(rates, ", "));
}

bool has_unit_gain(std::string_view name) { return core::find_entry("optimiser", name, optimisers()).has_unit_gain; }

}  // namespace paragrad::optim
