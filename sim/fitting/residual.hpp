#pragma once

#include <cmath>
#include <string_view>

namespace paragrad::sim::fitting {

/// Spreads to either side of an interval that holds 95 and 80 %: of a value, and of a prediction, whose errors have the
/// tails of Student's t with 4 degrees of freedom.
inline constexpr double normal_95 = 1.959964, student_95 = 2.776445, student_80 = 1.533206;

/// How far across a cluster a row's workers communicate.
enum class Reach { device, node, network };

inline constexpr const char* name_of(Reach reach) {
  return reach == Reach::device ? "device" : reach == Reach::node ? "node" : "network";
}

/// The inverse of name_of.
inline Reach reach_named(std::string_view name) {
  return name == name_of(Reach::device) ? Reach::device : name == name_of(Reach::node) ? Reach::node : Reach::network;
}

struct Timed {
  double seconds = 0;
  double exchange = 0;  ///< share of it that communication takes
};

/// What a prediction misses although its parameters are right, as the spread of the time's logarithm (Student's t, 4 degrees
/// of freedom): learnt from published measurements by `make validation LEARN=1`, and widened for other clusters
/// (sim/validation).
struct Residual {
  double of_row;       ///< of a measurement that is fitted
  double of_step;      ///< of a training, whatever it communicates
  double of_exchange;  ///< of communication: times its share of the time
  double beyond;       ///< the same across a level of the cluster that no fitted row has

  /// Of what the model leaves of a row that is fitted: most of what it misses is the same in all rows of a training, and is
  /// taken up by its parameters.
  double of_measured(const Timed& timed) const { return std::hypot(of_row, timed.exchange * of_exchange / 2); }

  double spread(const Timed& timed, bool is_beyond) const {
    const double exchange = timed.exchange * of_exchange, further = is_beyond ? timed.exchange * beyond : 0;
    return std::sqrt(of_step * of_step + exchange * exchange + further * further);
  }
};

inline constexpr Residual residual{
#include "sim/fitting/residual.def"
};

}  // namespace paragrad::sim::fitting
