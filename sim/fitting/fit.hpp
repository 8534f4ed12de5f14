#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/fitting/parameters.hpp"
#include "sim/fitting/residual.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim::fitting {

/// What was measured, or is to be predicted.
struct Row {
  std::string name{};
  double measured_s = 0;
  bool fits = true;     ///< otherwise it is only predicted
  bool trains = false;  ///< otherwise it is a collective operation
  int rate = -1;        ///< number of the training rate that it depends on; -1: on none
  Reach reach = Reach::device;
  bool by_nccl = false;  ///< its exchanges take the times of NCCL's model
  std::function<Timed(const Platform&, double rate)> time{};
};

/// Whether the row's time can depend on the parameter. Of links, NCCL's model has factors, and the rows that use it depend
/// on those alone: fitting both would tell neither.
bool depends(const Row& row, const Parameter& parameter);

/// How fast one device trains, in samples per second: unknown, and determined by the rows.
struct Rate {
  std::string name;
  double usual = 0;  ///< what it may be, within a large factor
};

/// One unknown and what the rows say of it. Coordinates: see Scale.
struct Estimate {
  std::string name;
  const Parameter* parameter = nullptr;  ///< null: a training rate
  double before = 0, value = 0;
  double spread_before = 0, spread = 0;  ///< standard deviations of the coordinate
  std::vector<std::size_t> rows{};       ///< that depend on it, the most informative first; empty: none does
  bool is_determined = false;            ///< it is clearly better known than before

  /// The ends of the interval that holds the value with a probability of 95 %.
  double low() const;
  double high() const;
};

/// A time and its interval.
struct Prediction {
  double seconds = 0;
  double spread = 0;                      ///< of its logarithm, see Residual
  double known = 0;                       ///< the part of it that the parameters leave
  double exchange = 0;                    ///< share of it that communication takes
  bool is_beyond = false;                 ///< it crosses a level of the cluster that no fitted row has
  double left_out_s = 0;                  ///< as predicted by a fit without this row; 0: it is not fitted, or alone
  std::vector<std::string> unmeasured{};  ///< parameters that it depends on and that no row determines
};

struct Fit {
  Platform platform;  ///< with the fitted values
  std::vector<double> rates;
  std::vector<Estimate> estimates{};
  std::vector<std::vector<double>> covariance{};  ///< of their coordinates
  Reach reach = Reach::device;                    ///< of the fitted rows, and of those that the platform was fitted to
  std::vector<Prediction> predictions{};          ///< of all rows
  int runs = 0;                                   ///< times that were computed
};

/// The values of the platform's parameters and of the rates under which the rows take the times that were measured: bounded
/// least squares of logarithms (Levenberg and Marquardt), in which each parameter's value so far counts as a measurement
/// with its spread. What no row depends on is left as it is. leave_one_out: also predicts each row by a fit to the others.
/// cost: about iterations times parameters times rows runs of Row::time; for each row, of up to 50, once more to leave it
/// out. Throws ConfigError if no row is to be fitted.
Fit fit(const Platform& platform, const std::vector<Row>& rows, const std::vector<Rate>& rates, bool leave_one_out = false);

}  // namespace paragrad::sim::fitting
