#pragma once

#include <map>
#include <string>

#include "comm/group_worker.hpp"
#include "core/philox.hpp"
#include "temporary_folder.hpp"
#include "tests/strategies/support.hpp"

namespace paragrad::strategies::testing {

/// Workers and servers on a platform where computing and talking take time.
struct ServerRun {
  std::string strategy = "async_sgd";
  int workers = 3;
  StrategyOptions options;
  sim::Options world;
  std::int64_t eager_bytes = 64;

  std::vector<std::vector<float>> parameters;  ///< of each worker, in the end
  std::map<std::string, double> numbers;       ///< that worker 0 reports
  std::vector<std::vector<Event>> orders;

  ServerRun() { options.server.rule.name = "sgd"; }

  void run(const std::function<void(comm::Worker&, Seat&)>& body) {
    const paragrad::test::TemporaryFolder folder;
    options.server.record = folder.file("order.txt");
    const int ranks = workers + options.server.servers;
    sim::Platform platform = sim::free_platform(ranks);
    platform.device = {1e9, 1e9, 1, 1, 1e-6};
    platform.leaf = {{1e-6, 1e9}, 1};
    platform.message.eager_bytes = eager_bytes;
    parameters.assign(static_cast<std::size_t>(workers), {});
    sim::run(platform, ranks, world, [&](comm::Worker& everyone) {
      if (everyone.rank() >= workers) return make_strategy(strategy, options)->serve(everyone, workers);
      comm::GroupWorker worker(everyone, 0, 1, workers);
      Seat seat(worker, strategy, options, {.name = "sgd"});
      const comm::TaskGuard guard(worker);
      body(worker, seat);
      seat.strategy->show_model(worker, *seat.replica);
      const Remarks remarks = seat.strategy->report(worker);
      if (worker.rank() == 0) numbers = {remarks.numbers.begin(), remarks.numbers.end()};
      parameters[static_cast<std::size_t>(worker.rank())] = seat.parameters;
    });
    orders = read_orders(options.server.record).servers;
  }
};

/// Takes a while, another one for each worker and minibatch.
inline void compute(comm::Worker& worker, std::uint64_t minibatch, std::uint64_t seed) {
  const core::RandomStream random(seed, core::Purpose::generator, static_cast<std::uint32_t>(worker.rank()));
  std::vector<float> data(1000 + static_cast<std::size_t>(20'000 * random.uniform(minibatch)));
  worker.run_kernels([&](backend::Device& device) { device.fill(1, data); });
}

/// A minibatch whose gradient is `value` everywhere, at rate 1.
inline void step(comm::Worker& worker, Seat& seat, float value) {
  for (float& g : seat.optimiser->gradients()) g = value;
  seat.replica->step = {.rate = 1, .samples = 1};
  seat.strategy->step(worker, *seat.replica);
}

}  // namespace paragrad::strategies::testing
