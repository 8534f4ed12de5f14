#include "predict/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::predict {
namespace {

constexpr std::size_t short_bytes = 65'536, long_bytes = 64'000'000;  // where latency decides, and where bandwidth does

/// By how much it is slower than it should be.
struct Slowness {
  std::vector<double> latency, bandwidth;  // of each measurement of a short array, of a long one
  std::vector<double> steps;               // of the exchange of each training
};

/// What counts as slower: a sheet predicts less exactly than another measurement.
struct Thresholds {
  double latency, bandwidth;
};
constexpr Thresholds by_measurement{1.3, 1.25}, by_sheet{4, 2.5};
constexpr double both = 1.1;        // the latency of another transport is at least that much longer …
constexpr double far_slower = 2.5;  // … where the bandwidth is that much smaller

bool are_alike(const MeasuredRow& a, const MeasuredRow& b) {
  if (a.training.has_value() != b.training.has_value() || a.workers != b.workers) return false;
  if (a.training)
    return a.training->model() == b.training->model() && a.training->samples_per_step() == b.training->samples_per_step();
  return a.collective.operation == b.collective.operation && a.collective.collective == b.collective.collective &&
         a.floats == b.floats;
}

/// What the operation should take.
std::optional<double> reference_s(const MeasuredRow& row, const std::vector<MeasuredRow>& healthy,
                                  const sim::Platform& platform) {
  for (const MeasuredRow& other : healthy)
    if (are_alike(row, other) && !other.times_s.empty()) return other.median_s();
  if (!healthy.empty()) return std::nullopt;
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

Slowness slowness_of(const std::vector<MeasuredRow>& rows, const std::vector<MeasuredRow>& healthy,
                     const sim::Platform& platform) {
  Slowness found;
  for (const MeasuredRow& row : rows) {
    const auto should_s = reference_s(row, healthy, platform);
    if (!should_s || row.times_s.empty()) continue;
    const std::size_t bytes = row.floats * sizeof(float);
    if (row.training && row.workers > 1) {
      found.steps.push_back(exchange_ratio(row, *should_s, platform));
    } else if (!row.training && (bytes <= short_bytes || bytes >= long_bytes)) {
      (bytes <= short_bytes ? found.latency : found.bandwidth).push_back(row.median_s() / *should_s);
    }
  }
  return found;
}

/// 1 if there is none.
double median(std::vector<double> values) {
  if (values.empty()) return 1;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// How many of the adapters of a node give this share of the bandwidth; 0: no number of them.
int adapters_for(double share, int adapters) {
  constexpr double near = 0.12;
  for (int k = 1; k < adapters; ++k)
    if (std::abs(share * adapters / k - 1) < near) return k;
  return 0;
}

}  // namespace

std::string explain(const std::vector<MeasuredRow>& rows, const std::vector<MeasuredRow>& healthy,
                    const sim::Platform& platform) {
  const Slowness found = slowness_of(rows, healthy, platform);
  if (found.latency.empty() && found.bandwidth.empty() && found.steps.empty())
    throw core::ConfigError(
        core::format("there is nothing to compare: give measurements up to {} or from {} bytes, or of trainings on several "
                     "workers{}",
                     short_bytes, long_bytes, healthy.empty() ? "" : ", of the same as the healthy ones"));
  const Thresholds& limits = healthy.empty() ? by_sheet : by_measurement;
  const double latency = median(found.latency), bandwidth = median(found.bandwidth);
  const bool is_late = latency > limits.latency, is_narrow = bandwidth > limits.bandwidth;
  const std::string measured = core::format("latency x {:.2g}, time of long arrays x {:.2g}", latency, bandwidth);
  if (found.latency.empty() && found.bandwidth.empty()) {
    const double exchange = median(found.steps);
    return exchange > limits.bandwidth
               ? core::format(
                     "the exchange of gradients takes {:.2g} times as long, if it makes all of the difference: as over "
                     "another "
                     "transport such as TCP",
                     exchange)
               : core::format("nothing is wrong that these steps could show (their exchange x {:.2g})", exchange);
  }
  if (is_narrow && (is_late || (bandwidth > far_slower && latency > both)))
    return core::format("another transport, such as TCP: latency and bandwidth are both worse ({})", measured);
  if (is_narrow) {
    const int adapters = platform.leaf.nics_per_node, used = adapters_for(1 / bandwidth, adapters);
    return used > 0 ? core::format("{} of the {} adapters of a node carry the traffic: the bandwidth alone is worse ({})",
                                   used, adapters, measured)
                    : core::format("the bandwidth alone is worse, and not by a number of adapters ({})", measured);
  }
  if (is_late) return core::format("the latency alone is worse ({})", measured);
  return core::format("nothing is wrong that these measurements could show ({})", measured);
}

}  // namespace paragrad::predict
