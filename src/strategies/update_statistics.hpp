#pragma once

#include "strategies/strategy.hpp"

namespace paragrad::strategies {

struct StatisticsOptions {
  bool statistics = false;

  void describe(core::OptionList& list);
};

/// How much the mean updates of successive blocks agree, and how far the workers' models are apart before they meet:
///
///   correlation   <g_t, g_t-1> / (|g_t| |g_t-1|)  of g_t = x_avg - x
///   spread        sqrt(sum of w_i |x_i|² - |x_avg|²) / |x_avg|,  w_i a worker's share of the samples
///
/// both as means over the blocks of a run. With outer momentum μ, a step has 1 + μ/(1 - μρ) times the current update along
/// it, if updates k blocks apart correlate by ρ^k. Costs four norms per block, one of a whole model, and a few numbers that
/// are summed over the workers. Memory: two arrays of what a worker owns.
class UpdateStatistics {
 public:
  explicit UpdateStatistics(const StatisticsOptions& options) : on_(options.statistics) {}

  /// owned: the part of `length` parameters that this worker sees. exact: x_avg is the mean up to rounding; otherwise there
  /// is no spread.
  void start(comm::Worker& worker, core::Range owned, std::size_t length, bool exact);

  /// Before the workers meet, with this worker's model.
  void see_own(comm::Worker& worker, std::span<const float> model);

  /// After it, with x_avg and x[owned]. share: w_i.
  void see_mean(comm::Worker& worker, std::span<const float> average, std::span<const float> model, double share);

  Remarks report() const;

  void describe_state(core::StateView& state);

 private:
  bool on_;
  core::Range owned_;
  double copies_ = 1;  // of each element, at the workers that own it
  bool exact_ = true;
  double own_square_ = 0;
  core::Arena update_, previous_;  // g_t and, in between, g_t-1, [owned]
  double previous_square_ = 0;
  double correlations_ = 0, spreads_ = 0;  // sums over the blocks
  std::uint64_t blocks_ = 0;
};

}  // namespace paragrad::strategies
