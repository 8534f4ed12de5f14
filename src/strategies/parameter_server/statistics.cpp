#include "strategies/parameter_server/statistics.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "core/format.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::strategies {
namespace {

constexpr std::size_t exact = 8;  // from here on, classes of twice the size of those below them

/// Of class i: the staleness it begins with.
std::size_t first_of(std::size_t i) { return i < exact ? i : exact << (i - exact); }
std::size_t class_of(std::size_t staleness) {
  return staleness < exact ? staleness : exact + static_cast<std::size_t>(std::bit_width(staleness / exact)) - 1;
}

std::string name_of(std::size_t i) {
  const std::size_t first = first_of(i), last = first_of(i + 1) - 1;
  return first == last ? core::format("{}", first) : core::format("{}-{}", first, last);
}

}  // namespace

Remarks remarks_of(const Statistics& statistics) {
  Remarks remarks;
  std::uint64_t pushes = 0, sum = 0;
  std::vector<std::uint64_t> classes;
  for (std::size_t s = 0; s < statistics.staleness.size(); ++s) {
    pushes += statistics.staleness[s];
    sum += s * statistics.staleness[s];
    classes.resize(std::max(classes.size(), class_of(s) + 1));
    classes[class_of(s)] += statistics.staleness[s];
  }
  const double mean = pushes > 0 ? static_cast<double>(sum) / static_cast<double>(pushes) : 0;
  const std::size_t most = statistics.staleness.empty() ? 0 : statistics.staleness.size() - 1;
  remarks.numbers = {
      {"pushes", static_cast<double>(pushes)}, {"staleness_mean", mean}, {"staleness_max", static_cast<double>(most)}};
  std::string line = core::format("staleness of {} gradients: mean {:.2f}, at most {};", pushes, mean, most);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    remarks.numbers.emplace_back("staleness_" + name_of(i), static_cast<double>(classes[i]));
    if (classes[i] > 0)
      line +=
          core::format("  {}: {:.1f} %", name_of(i), 100 * static_cast<double>(classes[i]) / static_cast<double>(pushes));
  }
  remarks.lines = {line};
  if (statistics.dropped > 0) {
    remarks.numbers.emplace_back("dropped", static_cast<double>(statistics.dropped));
    remarks.lines.push_back(core::format("{} gradients came too late and were dropped", statistics.dropped));
  }
  if (statistics.workers_lost > 0) {
    remarks.numbers.emplace_back("workers_lost", static_cast<double>(statistics.workers_lost));
    remarks.numbers.emplace_back("splits_lost", static_cast<double>(statistics.splits_lost));
    remarks.lines.push_back(core::format("{} worker{} fell silent and {} dropped; up to {} splits were lost with {}",
                                         statistics.workers_lost, statistics.workers_lost == 1 ? "" : "s",
                                         statistics.workers_lost == 1 ? "was" : "were", statistics.splits_lost,
                                         statistics.workers_lost == 1 ? "it" : "them"));
  }
  return remarks;
}

}  // namespace paragrad::strategies
