#include "train/balance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "comm/allreduce.hpp"

namespace paragrad::train {

namespace {

/// A speed relative to the mean, without the rounding of the times it comes from: equal workers get equal shares.
double relative(double speed, double mean) {
  constexpr double digits = 1 << 20;
  return std::round(speed / mean * digits) / digits;
}

}  // namespace

Balance::Balance(int workers, bool enabled)
    : workers_(static_cast<std::size_t>(workers)), before_(enabled ? workers_ : 0, 1.), latest_(before_) {}

// The estimate is the mean of the old and the new speed, so that one disturbed block does not upset the shares. That of a
// worker without samples approaches the mean, or else one that was very slow once would never be measured again.
void Balance::measured(comm::Communicator& comm, double samples, double seconds) {
  if (!enabled()) return;
  std::vector<double> speeds(workers_);
  if (samples > 0 && seconds > 0) speeds[static_cast<std::size_t>(comm.rank())] = samples / seconds;
  comm::sum_in_rank_order(comm, speeds);
  before_ = latest_;
  const auto known = static_cast<double>(workers_ - static_cast<std::size_t>(std::ranges::count(speeds, 0.)));
  const double mean = std::accumulate(speeds.begin(), speeds.end(), 0.) / known;
  for (std::size_t k = 0; k < workers_; ++k) latest_[k] = (latest_[k] + (speeds[k] > 0 ? relative(speeds[k], mean) : 1)) / 2;
}

core::Range Balance::part_of(std::size_t length, int rank, bool ahead) const {
  const auto worker = static_cast<std::size_t>(rank);
  if (!enabled()) return core::part_of(length, workers_, worker);
  const std::vector<double>& speeds = ahead ? latest_ : before_;
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.);
  const auto cut = [&](std::size_t k) {
    if (k == workers_) return length;
    const double below = std::accumulate(speeds.begin(), speeds.begin() + static_cast<std::ptrdiff_t>(k), 0.);
    return std::min(length, static_cast<std::size_t>(static_cast<double>(length) * below / all));
  };
  return {cut(worker), cut(worker + 1)};
}

void Balance::describe_state(core::StateView& state) {
  for (std::size_t k = 0; k < before_.size(); ++k) {
    state.add("before/" + std::to_string(k), before_[k], core::Rescale::own);
    state.add("latest/" + std::to_string(k), latest_[k], core::Rescale::own);
  }
}

}  // namespace paragrad::train
