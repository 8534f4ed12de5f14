#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/sim_world.hpp"

namespace paragrad::sim {
class Outages;
}

namespace paragrad::app {

/// A simulated cluster whose nodes fail and are repaired, as its platform's section [failures] says, while it trains.
///
/// At a failure all workers end, as if the power had failed, and go on from the last saved state on the nodes that are left,
/// which they share: the number of workers, and so the weights, do not change. Once nodes are repaired, they end after the
/// next saved state and go on with those as well. `paragrad launch` does the same with MPI ranks.
class FailingCluster {
 public:
  /// What the training has to know after a failure, and to tell.
  struct Going {
    std::optional<double> on_at_s;       ///< simulated time; nothing at the beginning
    std::function<void()> after_saving;  ///< to be called by worker 0 when the workers' state is saved
  };
  using MakeJob = std::function<std::unique_ptr<Job>(const Going&)>;

  /// world: of `ranks` workers, on a platform with [failures]. state_folder: of the training.
  FailingCluster(SimWorld& world, int ranks, std::string state_folder, bool quiet);
  ~FailingCluster();

  /// Runs jobs made by `make_job`, each of which resumes the last one's work, until one is finished. Returns the exit code.
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
  int ranks_;
  std::string state_folder_;
  bool quiet_;
  struct Counts {
    int failures = 0;
    std::size_t blocks_again = 0;
    double stopped_s = 0;
    int least_nodes = 0;
  } counts_;
  std::unique_ptr<sim::Outages> outages_;
  double clock_s_ = 0;
};

}  // namespace paragrad::app
