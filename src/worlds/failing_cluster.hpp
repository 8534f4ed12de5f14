#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sim/failures/outages.hpp"
#include "worlds/sim_world.hpp"

namespace paragrad::worlds {

/// A simulated cluster whose nodes fail and are repaired, as its platform's section [failures] says, while it trains.
///
/// At a failure all workers end, as if the power had failed, and go on from the last saved state on the nodes that are left,
/// which they share: the number of workers, and so the weights, do not change. Once nodes are repaired, they end after the
/// next saved state and go on with those as well. `paragrad launch` does the same with MPI ranks.
class FailingCluster {
 public:
  /// How a job goes on with the work of the one before.
  struct Resumption {
    std::optional<double> at_s{};          ///< simulated time; nothing for the first job, which begins
    std::function<void()> after_saving{};  ///< to be called by worker 0 when the workers' state is saved
  };
  using MakeJob = std::function<std::unique_ptr<Job>(const Resumption&)>;

  /// world: of `workers`, on a platform with [failures]. state_folder: of the training.
  FailingCluster(SimWorld& world, int workers, std::string state_folder, bool quiet);

  /// Runs jobs made by `make_job` until one is finished. Returns the exit code. Throws ConfigError if failures come faster
  /// than states are saved.
  int run(const MakeJob& make_job);

 private:
  void fail(double at_s);
  void rejoin(double at_s);
  void stop(double duration_s);
  sim::Platform platform_now() const;
  core::Json history() const;
  void say(const std::string& line) const;

  SimWorld& world_;
  sim::Platform whole_;  // with the nodes that the workers need
  std::string state_folder_;
  bool quiet_;
  sim::Outages outages_;
  struct Counts {
    int failures = 0;
    std::size_t blocks_again = 0;
    double stopped_s = 0;
    int least_nodes = 0;
  } counts_;
  double clock_s_ = 0;
  int fruitless_ = 0;  // failures in a row without a saved state
};

}  // namespace paragrad::worlds
