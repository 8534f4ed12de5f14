#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/philox.hpp"
#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {

Partition of_shares(const Task& task, Shares shares) {
  std::vector<std::vector<std::uint64_t>> cuts;
  for (std::size_t worker = 0; worker < shares.size(); ++worker) {
    std::vector<std::uint32_t>& share = shares[worker];
    if (share.size() < task.blocks)
      throw core::ConfigError(core::format(
          "a worker got {} of the {} {}, too few for {} blocks: choose fewer workers or blocks, or another partition",
          share.size(), task.units.count(), task.units.noun(), task.blocks));
    constexpr std::uint32_t first = 16;  // steps below it: Draws::Use
    core::RandomStream(task.seed, core::Purpose::division, first + static_cast<std::uint32_t>(worker)).shuffle(share);
    std::vector<std::uint64_t> ends{0};
    for (const std::uint32_t unit : share) ends.push_back(ends.back() + task.units.samples_of(unit).size());
    cuts.push_back(cut_at_ends(ends, task.blocks));
  }
  std::vector<std::uint32_t> order;
  std::vector<std::uint64_t> starts{0};
  std::vector<std::size_t> next(shares.size(), 0);
  for (std::size_t block = 0; block < task.blocks; ++block)
    for (std::size_t worker = 0; worker < shares.size(); ++worker) {
      for (std::uint64_t left = cuts[worker][block + 1] - cuts[worker][block]; left > 0;) {
        const core::Range samples = task.units.samples_of(shares[worker][next[worker]++]);
        for (std::size_t row = samples.begin; row < samples.end; ++row) order.push_back(static_cast<std::uint32_t>(row));
        left -= samples.size();
      }
      starts.push_back(order.size());
    }
  return Partition::of_splits(std::move(order), std::move(starts), task.workers, task.blocks, task.seed,
                              task.units.are_utterances());
}

/// The logarithm of a gamma variate, by rejection (Marsaglia and Tsang, ACM TOMS 26(3), 2000); of a small shape by that of a
/// shape one larger. A logarithm, because the variate itself underflows for shapes below some hundredths.
double Draws::log_gamma_variate(double shape) {
  if (shape < 1) {
    const double larger = log_gamma_variate(shape + 1);
    return larger + std::log1p(-uniform()) / shape;
  }
  const double d = shape - 1. / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(), v = 1 + c * x, u = 1 - uniform();
    if (v > 0 && std::log(u) < x * x / 2 + d - d * v * v * v + d * std::log(v * v * v)) return std::log(d * v * v * v);
  }
}

std::vector<double> Draws::dirichlet(const std::vector<double>& concentrations) {
  std::vector<double> values;
  for (const double one : concentrations) values.push_back(log_gamma_variate(one));
  const double most = *std::ranges::max_element(values);
  for (double& value : values) value = std::exp(value - most);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value /= sum;
  return values;
}

std::vector<std::vector<std::uint32_t>> by_label(const Task& task) {
  const std::vector<std::size_t> labels = task.units.labels();
  const core::RandomStream stream(task.seed, core::Purpose::division, static_cast<std::uint32_t>(Draws::Use::order));
  std::vector<std::vector<std::uint32_t>> units(*std::ranges::max_element(labels) + 1);
  for (const std::uint32_t unit : stream.permutation(static_cast<std::uint32_t>(labels.size())))
    units[labels[unit]].push_back(unit);
  return units;
}

void hand_out(std::span<const std::uint32_t> units, const std::vector<double>& parts, Shares& shares) {
  double until = 0;
  std::size_t begin = 0;
  for (std::size_t worker = 0; worker < shares.size(); ++worker) {
    until += parts[worker];
    const bool last = worker + 1 == shares.size();
    const auto end = last ? units.size()
                          : std::clamp(static_cast<std::size_t>(std::llround(until * static_cast<double>(units.size()))),
                                       begin, units.size());
    shares[worker].insert(shares[worker].end(), units.begin() + static_cast<std::ptrdiff_t>(begin),
                          units.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
}

Shares first_that_reaches_everyone(const Task& task, std::size_t variates, const std::function<Shares()>& draw) {
  const int attempts = static_cast<int>(std::clamp(5e7 / static_cast<double>(variates), 1., 1000.));  // some seconds
  for (int attempt = 0; attempt < attempts; ++attempt)
    if (Shares shares = draw(); std::ranges::all_of(shares, [&](const auto& share) { return share.size() >= task.blocks; }))
      return shares;
  throw core::ConfigError(core::format(
      "in none of {} draws did each of the {} workers get one of the {} {} for each block: choose a larger number after the "
      "colon, or fewer workers or blocks",
      attempts, task.workers, task.units.count(), task.units.noun()));
}

}  // namespace paragrad::data::partitioners
