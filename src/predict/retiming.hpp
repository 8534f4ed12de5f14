#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "predict/timing_run.hpp"
#include "sim/platform.hpp"
#include "worlds/sim_world.hpp"

namespace paragrad::predict {

/// A finished training whose results do not depend on times: it can be timed on any platform without computing. Its records
/// there are those of `paragrad simulate` with the same options, except that no state is saved. Options that describe the
/// first platform (`device-rate`, `nodes`) hold for the others, too.
class Retiming {
 public:
  /// folder: of the run, of either world. Throws ConfigError: no such run; times decide its results (servers, `balance`), or
  /// losses its times (`auto-minibatch`); pretraining, sequences of different lengths, another number of workers on the way;
  /// the data file has changed.
  /// time_as: a network to time in place of the run's, on the same minibatches; "": the run's own.
  explicit Retiming(const std::string& folder, const std::string& time_as = "");

  /// One record per epoch (or validation), and the last of the whole run, as in metrics.jsonl.
  using Records = std::vector<core::Json>;

  const Records& original() const { return original_; }
  std::size_t parameters() const { return run_->gradient_bytes() / sizeof(float); }  ///< of the network that is timed
  bool was_emulated() const { return platform_.has_value(); }
  const std::string& platform() const { return *platform_; }  ///< of an emulated run, its name

  /// The same with times and traffic of a platform. Throws ConfigError for one on which `simulate` would not run it.
  Records on(const sim::Platform& platform) const;

  /// Writes a run folder of this run, as timed. Throws ConfigError if it exists, unless it may be overwritten.
  void write(const std::string& into, bool overwrite, const sim::Platform& platform, const Records& records) const;

 private:
  std::string folder_, time_as_;
  core::Json manifest_;
  Records original_;
  std::optional<std::string> platform_;
  std::optional<TimingRun> run_;
  worlds::SimWorldArguments world_;
};

}  // namespace paragrad::predict
