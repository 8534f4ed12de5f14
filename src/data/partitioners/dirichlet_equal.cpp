#include <numeric>

#include "core/range.hpp"
#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {
namespace {

/// Workers take turns, each drawing a class by its mix from those that are left.
Partition divide_mixes(const Task& task, double alpha) {
  std::vector<std::vector<std::uint32_t>> classes = by_label(task);
  std::vector<double> concentrations;
  std::vector<std::size_t> present;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].empty()) continue;
    present.push_back(c);
    concentrations.push_back(alpha * static_cast<double>(classes[c].size()) / static_cast<double>(task.units.count()));
  }
  Draws mixes(task.seed, Draws::Use::shares), deals(task.seed, Draws::Use::deals);
  std::vector<std::vector<double>> mix;
  for (std::size_t worker = 0; worker < task.workers; ++worker) mix.push_back(mixes.dirichlet(concentrations));
  Shares shares(task.workers);
  std::vector<double> left(present.size());
  for (std::size_t dealt = 0; dealt < task.units.count(); ++dealt) {
    const std::size_t worker = dealt % task.workers;
    for (std::size_t i = 0; i < present.size(); ++i) left[i] = classes[present[i]].empty() ? 0 : mix[worker][i];
    double sum = std::accumulate(left.begin(), left.end(), 0.0);
    if (!(sum > 0)) {  // its classes are used up: by what there is
      for (std::size_t i = 0; i < present.size(); ++i) left[i] = static_cast<double>(classes[present[i]].size());
      sum = std::accumulate(left.begin(), left.end(), 0.0);
    }
    double at = deals.uniform() * sum;
    std::size_t chosen = present.size();
    for (std::size_t i = 0; i < present.size(); ++i) {
      if (left[i] == 0) continue;
      chosen = i;
      at -= left[i];
      if (at < 0) break;
    }
    std::vector<std::uint32_t>& units = classes[present[chosen]];
    shares[worker].push_back(units.back());
    units.pop_back();
  }
  return of_shares(task, std::move(shares));
}

}  // namespace

Entry dirichlet_equal_partitioner() {
  return partitioner(
      {.name = "dirichlet_equal",
       .parameter = ":ALPHA",
       .example = ":1",
       .summary = "by label: equally many samples for each worker, whose mix of classes is drawn from a Dirichlet "
                  "distribution around that of all, of concentration ALPHA",
       .source = "Hsu, Qi and Brown, arXiv 1909.06335",
       .formula = "mix of worker k: q_k ~ Dir(ALPHA p), p: share of each class in the training set\n"
                  "workers take turns, and draw by q_k among the classes that are left"},
      core::Limits<double>{.least = 0.001, .most = 1e6}, divide_mixes);
}

}  // namespace paragrad::data::partitioners
