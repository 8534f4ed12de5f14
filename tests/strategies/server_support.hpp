#pragma once

#include <map>
#include <string>

#include "backend/kernels/fill.hpp"
#include "comm/wrappers/group_worker.hpp"
#include "core/philox.hpp"
#include "temporary_folder.hpp"
#include "tests/strategies/support.hpp"

namespace paragrad::strategies::testing {

/// Workers and servers on a platform where computing and talking take time.
struct ServerRun {
  std::string strategy = "async_sgd";
  int workers = 3;
  core::Settings options;
  StrategyContext context;
  sim::SimulationOptions world;
  std::int64_t eager_bytes = 64;

  std::vector<std::vector<float>> parameters;  ///< of each worker, in the end
  std::map<std::string, double> numbers;       ///< that worker 0 reports
  std::vector<std::vector<Event>> orders;

  ServerRun() { context.server.rule.name = "sgd"; }

  void run(const std::function<void(comm::Worker&, StrategyHarness&)>& body) {
    const paragrad::test::TemporaryFolder folder;
    context.server.record = folder.file("order.txt");
    const int ranks = workers + core::read_options<ServerOptions>(options).servers;
    sim::Platform platform = sim::free_platform(ranks);
    platform.device = {1e9, 1e9, 1, 1, 1e-6};
    platform.leaf = {{1e-6, 1e9}, 1};
    platform.message.eager_bytes = eager_bytes;
    parameters.assign(static_cast<std::size_t>(workers), {});
    sim::run(platform, ranks, world, [&](comm::Worker& all_ranks) {
      if (all_ranks.rank() >= workers)
        return dynamic_cast<ServedStrategy&>(*make_strategy(strategy, options, context)).serve(all_ranks, workers);
      comm::GroupWorker worker(all_ranks, 0, 1, workers);
      StrategyHarness harness(worker, strategy, options, {.name = "sgd"}, 0, context);
      const comm::TaskGuard guard(worker);
      body(worker, harness);
      harness.strategy->show_model(worker, *harness.replica);
      const Remarks remarks = harness.strategy->report(worker);
      if (worker.rank() == 0) numbers = {remarks.numbers.begin(), remarks.numbers.end()};
      parameters[static_cast<std::size_t>(worker.rank())] = harness.parameters;
    });
    orders = read_orders(context.server.record).servers;
  }
};

/// Takes a while, another one for each worker and minibatch.
inline void compute(comm::Worker& worker, std::uint64_t minibatch, std::uint64_t seed) {
  const core::RandomStream random(seed, core::Purpose::generator, static_cast<std::uint32_t>(worker.rank()));
  std::vector<float> data(1000 + static_cast<std::size_t>(20'000 * random.uniform(minibatch)));
  worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Fill{1, data}); });
}

/// A minibatch whose gradient is `value` everywhere, at rate 1.
inline void step(comm::Worker& worker, StrategyHarness& harness, float value) {
  for (float& g : harness.optimiser->gradients()) g = value;
  harness.replica->step = {.rate = 1, .samples = 1};
  harness.exchange().step(worker, *harness.replica);
}

}  // namespace paragrad::strategies::testing
