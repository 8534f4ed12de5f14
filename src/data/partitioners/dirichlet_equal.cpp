#include <algorithm>
#include <numeric>

#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {
namespace {

/// The classes that a worker draws from, by the sums of their weights up to each.
class Mix {
 public:
  explicit Mix(std::vector<double> weights) : weights_(std::move(weights)) { add_up(); }

  std::size_t draw(double uniform) const {
    const auto above = std::ranges::upper_bound(sums_, uniform * sums_.back());
    return static_cast<std::size_t>((above == sums_.end() ? std::ranges::lower_bound(sums_, sums_.back()) : above) -
                                    sums_.begin());
  }

  /// Without classes of which nothing is left; if these are all of its own, by the numbers that are left.
  void leave_out_empty(const std::vector<std::vector<std::uint32_t>>& classes) {
    for (std::size_t c = 0; c < classes.size(); ++c)
      if (classes[c].empty()) weights_[c] = 0;
    if (std::ranges::all_of(weights_, [](double weight) { return weight == 0; }))
      std::ranges::transform(classes, weights_.begin(), [](const auto& units) { return static_cast<double>(units.size()); });
    add_up();
  }

 private:
  void add_up() {
    sums_.resize(weights_.size());
    std::inclusive_scan(weights_.begin(), weights_.end(), sums_.begin());
  }

  std::vector<double> weights_, sums_;
};

/// Workers take turns, each drawing a class by its mix.
Partition divide_mixes(const Task& task, double alpha) {
  std::vector<std::vector<std::uint32_t>> classes = by_label(task);
  std::erase_if(classes, [](const auto& units) { return units.empty(); });
  std::vector<double> concentrations;
  for (const auto& units : classes)
    concentrations.push_back(alpha * static_cast<double>(units.size()) / static_cast<double>(task.units.count()));
  Draws mixes(task.seed, Draws::Use::shares), deals(task.seed, Draws::Use::deals);
  std::vector<Mix> mix;
  for (std::size_t worker = 0; worker < task.workers; ++worker) mix.emplace_back(mixes.dirichlet(concentrations));
  Shares shares(task.workers);
  for (std::size_t dealt = 0; dealt < task.units.count(); ++dealt) {
    const std::size_t worker = dealt % task.workers;
    std::size_t drawn = mix[worker].draw(deals.uniform());
    if (classes[drawn].empty()) {
      mix[worker].leave_out_empty(classes);
      drawn = mix[worker].draw(deals.uniform());
    }
    shares[worker].push_back(classes[drawn].back());
    classes[drawn].pop_back();
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
