#pragma once

#include <array>
#include <cstdint>

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// The numbers that a rule may have.
struct RuleNumbers {
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
};

/// A step of an elementwise update rule on a minibatch of n samples.
struct RuleStep {
  double alpha = 0;  ///< learning rate of the whole minibatch, n·rate
  double scale = 1;  ///< 1/n, which makes a mean of the summed gradient
  double decay = 0;  ///< strength λ of the L2 penalty per sample
  RuleNumbers numbers{};
};

/// The kernel of an elementwise update rule, backend/update_rules/NAME.hpp:
///
///   struct Sign {                                               // w -= α sign(g)
///     static constexpr KernelId id = KernelId::sign_update;
///     static constexpr RuleNumbers defaults{};                  // as published
///     static constexpr std::array<const char*, 0> state{};      // names of the numbers kept per parameter, at most two
///     static constexpr std::uint64_t flops = 2;                 // per parameter
///     static void update(const RuleStep& step, Real g, Real& w, Real& first, Real& second);  // a template over Real
///   };
template <class Rule, class Real>
struct RuleUpdateOf {
  static constexpr KernelId id = Rule::id;
  static constexpr std::size_t arrays = Rule::state.size();

  RuleStep step;
  std::span<const Real> g;
  std::span<Real> w;
  std::span<Real> first, second;  ///< the rule's state; empty if it has less

  void check() const {
    expect_size(id, "g", g.size(), w.size());
    expect_size(id, "first", first.size(), arrays > 0 ? w.size() : 0);
    expect_size(id, "second", second.size(), arrays > 1 ? w.size() : 0);
  }
  KernelCost cost() const { return streaming_cost(w.size(), Rule::flops, 3 + 2 * arrays); }
  std::size_t elements() const { return w.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    Real none{};
    if constexpr (arrays == 0)
      Rule::update(step, g[i], w[i], none, none);
    else if constexpr (arrays == 1)
      Rule::update(step, g[i], w[i], first[i], none);
    else
      Rule::update(step, g[i], w[i], first[i], second[i]);
  }
  static Example<RuleUpdateOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      const auto array = [&](bool wanted) { return wanted ? memory.parameters(count) : std::span<float>{}; };
      return RuleUpdateOf{{1e-6, 1, 0, Rule::defaults}, array(true), array(true), array(arrays > 0), array(arrays > 1)};
    };
  }
};

template <class Rule>
using RuleUpdate = RuleUpdateOf<Rule, float>;

}  // namespace paragrad::backend
