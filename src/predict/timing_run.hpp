#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "predict/simulation_arguments.hpp"
#include "sim/fitting/fit.hpp"
#include "sim/platform.hpp"
#include "train/output.hpp"
#include "train/result.hpp"

namespace paragrad::predict {

/// A timing run of `paragrad simulate` that prints and writes nothing, on any platform.
class TimingRun {
 public:
  static constexpr std::size_t steps_timed = 3;  ///< the first of them begins with nothing under way

  /// options: of `simulate`, as words of a command line without --device and --platform. By default the workers are data
  /// parallel, and train a few minibatches. Throws ConfigError.
  explicit TimingRun(std::vector<std::string> options);

  /// Of options that are checked and settled, with their number of samples.
  explicit TimingRun(const SimulationArguments& arguments);

  /// The same of a few minibatches, or of one block if the strategy exchanges nothing in between.
  static TimingRun brief(SimulationArguments arguments);

  int workers() const;
  bool shares_minibatches() const;       ///< among all workers
  std::size_t samples_per_step() const;  ///< of all workers together
  std::size_t gradient_bytes() const;    ///< of the model, in float32
  const std::string& model() const;
  const std::string& data_sha256() const;  ///< of its data file; "" without one
  const std::string& collective() const;   ///< "" if the strategy has none

  struct Times {
    double samples_per_s = 0;  ///< of all workers together
    double exchange = 0;       ///< share of the time in which workers communicate and do not compute
  };

  /// The whole result, without records but through `output`. rate, compute_scale: as for time().
  train::Result train(const sim::Platform& platform, double rate, double compute_scale, const train::Output& output) const;

  /// On a platform with as many nodes as the workers need. rate: of one device, in samples per second; 0: as --device-rate
  /// says, or else the roofline. compute_scale: a factor on the times of computing. Throws ConfigError.
  Times time(const sim::Platform& platform, double rate, double compute_scale = 1) const;

  bool has_given_rate() const;  ///< by --device-rate

  /// As --device-rate or the platform says; 0: neither does.
  double known_rate(const sim::Platform& platform) const;

  /// The run as a row of a fit. rate: the number of its rate there, or -1.
  sim::fitting::Row row(const sim::Platform& platform, int rate) const;

  /// Samples per second of one device, by the platform's roofline.
  double roofline_rate(const sim::Platform& platform) const;

  /// A lower bound on what a worker's device must hold: parameters, gradient, optimiser state, activations.
  double device_bytes() const;

  /// How many nodes of the platform the workers fill.
  int nodes(const sim::Platform& platform) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace paragrad::predict
