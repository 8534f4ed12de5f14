#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "predict/collective_measurement.hpp"
#include "predict/timing_run.hpp"

namespace paragrad::predict {

/// A measurement of a cluster: how fast a training runs, or how long a collective operation takes.
struct MeasuredRow {
  std::string where;  ///< of the first measurement: "runs.csv:3"
  std::string what;   ///< "zoo:resnet50 on 16", "allreduce of 64 MB on 16"
  bool fits = true;   ///< otherwise it is only predicted
  std::string series;
  std::set<std::string> hosts;  ///< the nodes that it ran on, if the file names them

  std::optional<TimingRun> training;  ///< or else:
  CollectiveSettings collective;
  int workers = 0;
  std::size_t floats = 0;

  /// Of the operation; of a training, per sample of all workers. In ascending order; empty: nothing was measured.
  std::vector<double> times_s;

  double median_s() const;  ///< 0: nothing was measured
};

/// How many nodes of the platform a row's workers fill.
int nodes_of(const MeasuredRow& row, const sim::Platform& platform);

/// Throws ConfigError if these nodes need a section [leaf] that the platform does not have.
void require_network(const MeasuredRow& row, const sim::Platform& platform);

/// Seconds of the row's collective operation on the platform, with as many nodes as it needs.
double time_of(const MeasuredRow& row, sim::Platform platform);

/// That operation as a row of a fit.
sim::fitting::Row row_of_collective(const MeasuredRow& row, const sim::Platform& platform);

/// The rows of files: tables of trainings and of collectives, and what nccl-tests prints. Several measurements of the same
/// are one row. operation: of nccl-tests where its output does not say it, or "". Throws ConfigError, with file and line,
/// for what is neither, for a file without rows, and for more different rows than can be fitted.
///
/// A table (CSV) has a row of names. Of a training: `model`, `workers`, `minibatch` (as the option) or
/// `minibatch-per-worker`, `samples_per_s` or `s_per_step`, and any option of `simulate`. Of a collective: `operation`,
/// `workers`, `bytes`, `time` (with its unit), and `collective`. Of both: `use` (fit or predict), `series`, which tells the
/// rates of a model apart, and `hosts`, names of nodes, separated by spaces.
std::vector<MeasuredRow> read_measured_rows(const std::vector<std::string>& files, const std::string& operation);

}  // namespace paragrad::predict
