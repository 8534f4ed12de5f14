#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "backend/kernels/adam_update.hpp"
#include "backend/update_rule.hpp"
#include "optim/local_optimiser.hpp"

namespace paragrad::optim {

/// The options of the momentum of a training, which the loop reads.
struct MomentumOptions {
  void describe(core::OptionList& list) {
    for (const char* name : {"momentum", "momentum-time-constant", "unit-gain-momentum"}) list.uses(name);
  }
};

/// The numbers of a rule, as chosen or else as published.
struct RuleOptions {
  backend::RuleNumbers published;
  std::optional<double> beta1{}, beta2{}, epsilon{};

  backend::RuleNumbers numbers() const {
    return {beta1.value_or(published.beta1), beta2.value_or(published.beta2), epsilon.value_or(published.epsilon)};
  }
  void describe(core::OptionList& list);
};

inline constexpr backend::RuleNumbers adam_numbers{.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};  ///< as published

/// Adam's constants for step number `steps`, from 1; decoupled: AdamW's.
backend::AdamStep adam_step(const backend::RuleNumbers& numbers, const Step& step, double steps, bool decoupled);

/// The arguments from which a rule is constructed; see make_optimiser.
struct OptimiserContext {
  const OptimiserOptions& options;
  backend::Device& device;
  std::span<const core::Matrix> layout;
  std::size_t parameters;
  bool bare_gradient;
};

/// A rule of optim/catalogue.def.
struct OptimiserEntry {
  core::EntryInfo info;
  bool heeds_momentum = false;  ///< it uses Step::momentum
  double customary_rate = 0;    ///< learning rate per minibatch where none is given; 0: one has to be
  bool has_unit_gain = false;   ///< a sample moves the parameters by one rate times its gradient, whatever the momentum
  std::function<std::unique_ptr<LocalOptimiser>(const OptimiserContext&)> make;
};

/// An entry whose maker takes the context, and the options if it has any (which describe themselves, see core::OptionList).
template <class Options = core::NoOptions, class Make>
OptimiserEntry entry_of(core::EntryInfo info, Make make, Options defaults = {}) {
  info.options = core::options_of(defaults);
  return {.info = std::move(info),
          .make = [make, defaults](const OptimiserContext& from) -> std::unique_ptr<LocalOptimiser> {
            if constexpr (std::is_same_v<Options, core::NoOptions>)
              return make(from);
            else
              return make(from, core::read_options(from.options.settings, defaults));
          }};
}

/// The same for rules that use Step::momentum.
template <class Options = MomentumOptions, class Make>
OptimiserEntry momentum_entry_of(core::EntryInfo info, Make make) {
  OptimiserEntry entry = entry_of<Options>(std::move(info), make);
  entry.heeds_momentum = true;
  return entry;
}

// <name>_entry(), each in <name>.cpp or, where several share a rule, in that of the rule: momentum.cpp, adam.cpp,
// elementwise_rules.cpp
#define OPTIMISER(name) OptimiserEntry name##_entry();
#include "optim/catalogue.def"
#undef OPTIMISER

}  // namespace paragrad::optim
