#include "predict/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "predict/slow_nodes.hpp"

namespace paragrad::predict {
namespace {

constexpr std::size_t short_bytes = 65'536, long_bytes = 64'000'000;  // where latency decides, and where bandwidth does

/// By how much it is slower than it should be.
struct Slowness {
  std::vector<Comparison> latency, bandwidth;  // of each measurement of a short array, of a long one
  std::vector<Comparison> trainings;
  std::vector<Comparison> exchanges;  // of each training on several workers
};

/// What counts as slower: a sheet predicts less exactly than another measurement.
struct Thresholds {
  double latency, bandwidth;
};
constexpr Thresholds by_measurement{1.3, 1.25}, by_sheet{4, 2.5};
constexpr double odd = 1.5;    // a bandwidth that no number of adapters explains differs that much, also on different days
constexpr double near = 0.12;  // of the bandwidth that a number of adapters has
constexpr double both = 1.1;   // the latency of another transport is at least that much longer …
constexpr double far_slower = 2.5;  // … where the bandwidth is that much smaller

bool are_alike(const MeasuredRow& a, const MeasuredRow& b) {
  if (a.training.has_value() != b.training.has_value() || a.workers != b.workers) return false;
  if (a.training)
    return a.training->model() == b.training->model() && a.training->samples_per_step() == b.training->samples_per_step();
  return a.collective.operation == b.collective.operation && a.collective.collective == b.collective.collective &&
         a.floats == b.floats;
}

/// What it should take. references: other measurements, `rows` themselves if they are compared with each other: then some of
/// them may be slow. Nothing if none of them is alike.
std::optional<double> reference_s(const MeasuredRow& row, const std::vector<MeasuredRow>& references,
                                  const std::vector<MeasuredRow>& rows, const sim::Platform& platform) {
  std::vector<double> alike_s;
  for (const MeasuredRow& other : references)
    if (&other != &row && are_alike(row, other) && !other.times_s.empty()) alike_s.push_back(other.median_s());
  std::ranges::sort(alike_s);
  if (!alike_s.empty()) return alike_s[alike_s.size() / (&references == &rows ? 4 : 2)];
  if (!references.empty()) return std::nullopt;
  if (row.training) return 1 / row.training->time(platform, row.training->known_rate(platform)).samples_per_s;
  return time_of(row, platform);
}

/// Of a training, how much longer its exchange would take if that made all of the difference.
double exchange_ratio(const MeasuredRow& row, double should_s, const sim::Platform& platform) {
  MeasuredRow exchange = row;
  exchange.training.reset();
  exchange.collective.operation = "allreduce";
  exchange.collective.collective = platform.nccl ? "nccl" : "ring";
  exchange.collective.device = "meta", exchange.collective.repeat = 1;
  exchange.floats = row.training->gradient_bytes() / sizeof(float);
  const double exchange_s = time_of(exchange, platform);
  const double longer_s = (row.median_s() - should_s) * static_cast<double>(row.training->samples_per_step());
  return std::max(1., (exchange_s + longer_s) / exchange_s);
}

Slowness slowness_of(const std::vector<MeasuredRow>& rows, const std::vector<MeasuredRow>& references,
                     const sim::Platform& platform) {
  Slowness found;
  for (const MeasuredRow& row : rows) {
    if (!row.hosts.empty() && std::ssize(row.hosts) != nodes_of(row, platform))
      throw core::ConfigError(core::format("{}: it has {} hosts, and {} workers need {} nodes: separate the names by spaces",
                                           row.where, row.hosts.size(), row.workers, nodes_of(row, platform)));
    const auto should_s = reference_s(row, references, rows, platform);
    if (!should_s || row.times_s.empty()) continue;
    const std::size_t bytes = row.floats * sizeof(float);
    const Comparison one{row.hosts, nodes_of(row, platform), row.median_s() / *should_s};
    if (row.training) {
      found.trainings.push_back(one);
      if (row.workers > 1) found.exchanges.push_back({{}, one.nodes, exchange_ratio(row, *should_s, platform)});
    } else if (bytes <= short_bytes || bytes >= long_bytes) {
      (bytes <= short_bytes ? found.latency : found.bandwidth).push_back(one);
    }
  }
  return found;
}

/// How many of the adapters of a node give this share of the bandwidth; 0: no number of them.
int adapters_for(double share, int adapters) {
  for (int k = 1; k < adapters; ++k)
    if (std::abs(share * adapters / k - 1) < near) return k;
  return 0;
}

}  // namespace

std::string explain(const std::vector<MeasuredRow>& rows, const std::vector<MeasuredRow>& healthy,
                    const sim::Platform& platform) {
  const bool names_hosts = std::ranges::any_of(rows, [](const MeasuredRow& row) { return !row.hosts.empty(); });
  const std::vector<MeasuredRow>& references = healthy.empty() && names_hosts ? rows : healthy;
  const Slowness found = slowness_of(rows, references, platform);
  const Thresholds& limits = references.empty() ? by_sheet : by_measurement;
  const bool is_collective = !found.latency.empty() || !found.bandwidth.empty();
  if (!is_collective && found.exchanges.empty() && (found.trainings.empty() || !names_hosts))
    throw core::ConfigError(core::format(
        "there is nothing to compare: give measurements up to {} or from {} bytes, or of trainings on several workers{}",
        short_bytes, long_bytes,
        !healthy.empty() ? ", of the same as the healthy ones"
        : names_hosts    ? ", of the same on several nodes"
                         : ""));
  for (const auto& [comparisons, limit] :
       {std::pair(&found.bandwidth, limits.bandwidth), std::pair(&found.latency, limits.latency),
        std::pair(&found.trainings, limits.bandwidth)})
    if (std::string sentence = explain_by_nodes(*comparisons, limit); !sentence.empty()) return sentence;
  const double latency = median_ratio(found.latency), bandwidth = median_ratio(found.bandwidth);
  const int adapters = platform.leaf.nics_per_node, used = adapters_for(1 / bandwidth, adapters);
  const double least_odd = references.empty() ? limits.bandwidth : odd;
  const bool is_late = latency > limits.latency;
  const bool is_narrow = bandwidth > (used > 0 ? limits.bandwidth : least_odd);
  const std::string measured = core::format("latency x {:.2g}, time of long arrays x {:.2g}", latency, bandwidth);
  if (!is_collective) {
    const double exchange = median_ratio(found.exchanges);
    return exchange > limits.bandwidth
               ? core::format(
                     "the exchange of gradients takes {:.2g} times as long, if it makes all of the difference: as over "
                     "another transport such as TCP",
                     exchange)
               : core::format("nothing is wrong that these steps could show (their exchange x {:.2g})", exchange);
  }
  const bool beyond_adapters = adapters > 1 && bandwidth > adapters * (1 + near);
  const bool is_far = bandwidth > far_slower && (beyond_adapters || latency > both);
  if (is_far || (is_late && bandwidth > limits.bandwidth))
    return core::format("another transport, such as TCP: {} ({})",
                        is_late || latency > both ? "latency and bandwidth are both worse"
                                                  : "the bandwidth is worse by more than adapters could explain",
                        measured);
  if (is_narrow) {
    return used > 0 ? core::format("{} of the {} adapters of a node carry the traffic: the bandwidth alone is worse ({})",
                                   used, adapters, measured)
                    : core::format("the bandwidth alone is worse, and not by a number of adapters ({})", measured);
  }
  if (is_late) return core::format("the latency alone is worse ({})", measured);
  return core::format("nothing is wrong that these measurements could show ({})", measured);
}

}  // namespace paragrad::predict
