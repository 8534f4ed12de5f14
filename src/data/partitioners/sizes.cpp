#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {
namespace {

Partition divide_samples(const Task& task, double alpha) {
  const core::RandomStream stream(task.seed, core::Purpose::division, static_cast<std::uint32_t>(Draws::Use::order));
  const std::vector<std::uint32_t> order = stream.permutation(static_cast<std::uint32_t>(task.units.count()));
  const std::vector<double> concentrations(task.workers, alpha);
  Draws draws(task.seed, Draws::Use::shares);
  return of_shares(task, first_that_reaches_everyone(task, task.workers, [&] {
                     Shares shares(task.workers);
                     hand_out(order, draws.dirichlet(concentrations), shares);
                     return shares;
                   }));
}

}  // namespace

Entry sizes_partitioner() {
  return partitioner({.name = "sizes",
                      .parameter = ":ALPHA",
                      .example = ":1",
                      .summary = "in a random order, but more samples for some workers: shares drawn from a Dirichlet "
                                 "distribution of concentration ALPHA",
                      .source = "Li, Diao, Chen and He, ICDE 2022"},
                     core::Limits<double>{.least = 0.001, .most = 1e6}, divide_samples);
}

}  // namespace paragrad::data::partitioners
