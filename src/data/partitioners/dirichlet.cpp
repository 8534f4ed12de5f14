#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {
namespace {

Partition divide_classes(const Task& task, double alpha) {
  const std::vector<std::vector<std::uint32_t>> classes = by_label(task);
  const std::vector<double> concentrations(task.workers, alpha);
  Draws draws(task.seed, Draws::Use::shares);
  return of_shares(task, first_that_reaches_everyone(task, classes.size() * task.workers, [&] {
                     Shares shares(task.workers);
                     for (const auto& units : classes) hand_out(units, draws.dirichlet(concentrations), shares);
                     return shares;
                   }));
}

}  // namespace

Entry dirichlet_partitioner() {
  return partitioner(
      {.name = "dirichlet",
       .parameter = ":ALPHA",
       .example = ":0.1",
       .summary = "by label: each class in shares drawn from a Dirichlet distribution of concentration ALPHA; "
                  "the smaller, the more classes and numbers of samples differ",
       .source = "Yurochkin et al., ICML 2019; Li, Diao, Chen and He, ICDE 2022",
       .formula = "share of worker k of class c: p_ck, (p_c1, ..., p_cN) ~ Dir(ALPHA, ..., ALPHA)\n"
                  "drawn again until each worker has a sample for each block"},
      core::Limits<double>{.least = 0.001, .most = 1e6}, divide_classes);
}

}  // namespace paragrad::data::partitioners
