#pragma once

#include <string>
#include <vector>

#include "sim/fitting/fit.hpp"

namespace paragrad::sim::fitting {

/// How sure a time is that was predicted on a platform that `paragrad fit` has written.
struct Uncertainty {
  double known = 0;                     ///< spread of the time's logarithm that the fitted values leave
  double spread = 0;                    ///< and all of it
  bool is_beyond = false;               ///< it crosses a level of the cluster that no fitted row has
  std::vector<std::string> unmeasured;  ///< fitted values that it depends on and that are hardly known
  std::vector<double> slopes;           ///< of the time's logarithm, by the coordinate of each fitted value
  Timed timed;
  Reach reach = Reach::device;

  /// The factor from the time to the ends of an interval. of: student_95 or student_80.
  double factor(double of) const;
};

/// Of the row's time, whose `measured_s` is ignored; rate: as for Row::time. Runs it once for each value that it may depend
/// on. Throws ConfigError if the platform has no section [fit].
Uncertainty uncertainty_of(const Platform& platform, const Row& row, double rate);

/// The spread that is left if the other row is measured, too.
double spread_after(const Platform& platform, const Uncertainty& uncertainty, const Row& measured, double rate);

/// "95 %: 1.2s to 1.4s, 80 %: 1.25s to 1.35s; nobody has measured leaf.bandwidth"
std::string interval_text(double seconds, const Uncertainty& uncertainty);

}  // namespace paragrad::sim::fitting
