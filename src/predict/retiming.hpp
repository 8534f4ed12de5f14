#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "predict/timing_run.hpp"
#include "sim/platform.hpp"

namespace paragrad::predict {

/// A finished training whose results do not depend on times: it can be timed as on any platform, without computing, and then
/// is what `paragrad simulate` would record there, with the losses of the run.
class Retiming {
 public:
  /// folder: of the run, of either world. Throws ConfigError: no such run, or its times decide its results (servers,
  /// `balance`), or were decided by them (`auto-minibatch`), or are those of pretraining.
  explicit Retiming(const std::string& folder);

  /// One record per epoch (or validation), and the last of the whole run, as in metrics.jsonl.
  using Records = std::vector<core::Json>;

  const Records& original() const { return original_; }
  bool was_emulated() const { return platform_.has_value(); }
  const std::string& platform() const { return *platform_; }  ///< of an emulated run, its name

  /// The same with times and traffic of a platform. rate: see TimingRun.
  Records on(const sim::Platform& platform) const;

  /// Writes a run folder of this run, as timed. Throws ConfigError if it exists, unless it may be overwritten.
  void write(const std::string& into, bool overwrite, const sim::Platform& platform, const Records& records) const;

 private:
  std::string folder_;
  core::Json manifest_;
  Records original_;
  std::optional<std::string> platform_;
  std::optional<TimingRun> run_;
};

}  // namespace paragrad::predict
