#include <array>
#include <utility>

#include "backend/all_kernels.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {
namespace {

/// An optimiser from its elementwise rule (backend/update_rule.hpp) alone.
template <class Rule>
class ElementwiseRule final : public LocalOptimiser {
 public:
  ElementwiseRule(const OptimiserContext& from, const backend::RuleNumbers& numbers)
      : numbers_(numbers), gradients_(from.device.allocate(from.parameters)) {
    for (core::Arena& array : state_) array = from.device.allocate(from.parameters);
  }

  std::span<float> gradients() override { return gradients_.span(); }
  float keep(const Step&) const override { return 0; }
  bool descends() const override { return false; }
  void swap_gradients(core::Arena& other) override { std::swap(gradients_, other); }

  void describe_state(core::StateView& state) override {
    for (std::size_t i = 0; i < state_.size(); ++i) state.add(Rule::state[i], state_[i].span(), core::Rescale::mean);
  }
  void forget(backend::KernelQueue& queue) override {
    for (core::Arena& array : state_) queue.run(backend::Fill{0, array.span()});
  }

  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override {
    if (range.empty()) return;
    const double samples = step.samples;
    const auto part = [&](std::size_t i) { return i < state_.size() ? range.of(state_[i].span()) : std::span<float>{}; };
    queue.run(backend::RuleUpdate<Rule>{{samples * step.rate, 1 / samples, step.decay / samples, numbers_},
                                        range.of(gradients_.span()),
                                        range.of(parameters),
                                        part(0),
                                        part(1)});
  }

 private:
  backend::RuleNumbers numbers_;
  core::Arena gradients_;
  std::array<core::Arena, Rule::state.size()> state_;
};

}  // namespace

#define UPDATE_RULE(name, Rule, rate, summary, source)                                      \
  OptimiserEntry name##_entry() {                                                           \
    OptimiserEntry entry = entry_of(                                                        \
        {#name, "", "", summary, source},                                                   \
        [](const OptimiserContext& from, const RuleOptions& options) {                      \
          return std::make_unique<ElementwiseRule<backend::Rule>>(from, options.numbers()); \
        },                                                                                  \
        RuleOptions{backend::Rule::defaults});                                              \
    entry.customary_rate = rate;                                                            \
    return entry;                                                                           \
  }
#include "backend/update_rules.def"
#undef UPDATE_RULE

}  // namespace paragrad::optim
