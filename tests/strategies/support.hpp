#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "sim/simulation.hpp"
#include "strategies/strategy.hpp"
#include "tests/settings.hpp"

namespace paragrad::strategies::testing {

inline constexpr std::size_t length = 37;  // no multiple of any number of workers

/// What one emulated worker needs to take part in a strategy: no model, the tests move the parameters themselves.
struct StrategyHarness {
  std::vector<float> parameters = std::vector<float>(length);
  std::vector<core::Matrix> layout{{0, {length, 1}}};
  std::vector<core::Range> stages{{20, length}, {3, 20}, {0, 3}};
  std::unique_ptr<optim::LocalOptimiser> optimiser;
  std::unique_ptr<strategies::Strategy> strategy;
  std::unique_ptr<strategies::Replica> replica;

  StrategyHarness(comm::Worker& worker, const std::string& name, const core::Settings& options,
                  const optim::OptimiserOptions& rule = {}, float start = 0, const StrategyContext& context = {}) {
    strategy = strategies::make_strategy(name, options, context);
    optimiser = optim::make_optimiser(rule, worker.device(), layout, exchanges(worker.size()));
    std::iota(parameters.begin(), parameters.end(), start);
    replica.reset(new strategies::Replica{parameters, layout, stages, *optimiser, {.momentum = 0.5f}});
    strategy->start(worker, *replica);
  }

  /// The strategy, which must be one that exchanges gradients or has servers.
  ExchangingStrategy& exchange() { return dynamic_cast<ExchangingStrategy&>(*strategy); }
  ServedStrategy& served() { return dynamic_cast<ServedStrategy&>(*strategy); }

  bool exchanges(int workers) const {
    const auto* exchanging = dynamic_cast<const ExchangingStrategy*>(strategy.get());
    return exchanging != nullptr && exchanging->exchanges(workers);
  }

  std::span<float> velocity() {
    core::StateView state;
    optimiser->describe_state(state);
    return state.arrays.at(0).values;
  }
};

using test::used_by;

/// The parameters of all workers after `body(worker, harness)`.
inline std::vector<std::vector<float>> after(int workers, const std::string& name, const core::Settings& options,
                                             const std::function<void(comm::Worker&, StrategyHarness&)>& body,
                                             const optim::OptimiserOptions& rule = {}) {
  std::vector<std::vector<float>> parameters(static_cast<std::size_t>(workers));
  sim::run(workers, [&](comm::Worker& worker) {
    StrategyHarness harness(worker, name, options, rule);
    body(worker, harness);
    parameters[static_cast<std::size_t>(worker.rank())] = harness.parameters;
  });
  return parameters;
}

inline void move_by(StrategyHarness& harness, float amount) {
  for (float& p : harness.parameters) p += amount;
}

}  // namespace paragrad::strategies::testing
