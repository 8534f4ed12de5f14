#pragma once

#include <memory>
#include <string>

#include "core/json.hpp"
#include "core/options.hpp"
#include "sim/simulation.hpp"
#include "worlds/given_rate.hpp"
#include "worlds/world.hpp"

namespace paragrad::worlds {

/// Options of a simulated world.
struct SimWorldArguments {
  int workers = 1;
  std::string platform;
  std::string network = "fifo";
  std::string io = "none";
  std::size_t sample_bytes = 0;
  bool oversubscribe = false;
  int host_threads = 0;
  int nodes = 0;
  int devices_per_node = 0;
  std::string fast_collectives = "auto";
  bool one_number_of_workers = true;  ///< otherwise the command has an option of its own
  bool needs_platform = true;
  GivenRate device_rate{};  ///< for commands that have such an option

  /// may_be_real: without a platform, and under mpiexec, there is another world.
  void describe(core::OptionList& list, bool may_be_real);
};

/// A platform with the nodes, devices and cost of a step that the options ask for. Throws ConfigError.
sim::Platform with_options(sim::Platform platform, const SimWorldArguments& arguments);

/// Emulated workers if a platform is given, or else the real world. facts: as for make_real_world. The job must check the
/// use of its options when it prepares.
std::unique_ptr<World> make_world(const RankFacts& facts, const SimWorldArguments& arguments, const std::string& device);

/// Prints how long the work of a simulated world took; nothing of another world. world: as in Job::finish.
void print_simulated_time(const core::Json& world);

/// Emulated workers in this process, on a platform.
class SimWorld : public World {
 public:
  /// ranks: workers and servers. Throws ConfigError.
  SimWorld(const SimWorldArguments& arguments, const std::string& device, int workers_per_node = 0);

  const sim::Platform& platform() const { return platform_; }
  /// The same workers on another number of nodes, whose devices they may have to share. The algorithms that depend on the
  /// workers per node stay those of the platform before.
  void set_platform(sim::Platform platform);
  void set_ranks(int ranks) { ranks_ = ranks; }
  void set_compute_scale(double scale) { compute_scale_ = scale; }

  const char* name() const override { return "simulation"; }
  const char* clock() const override { return "simulated"; }
  void describe(core::Json& manifest) const override;
  int run(Job& job) override;

  /// What a job resumes: it adds to the times, and the record to what the manifest says of the world.
  struct Past {
    double duration_s = 0;
    core::Json record = core::Json::object();
  };
  /// The same until `stop_when`, which is asked with the time before each event, says that the power fails. Returns whether
  /// the job is finished.
  bool run_until(Job& job, const std::function<bool(double)>& stop_when, const Past& past);

 private:
  SimWorldArguments arguments_;
  sim::Platform platform_;
  std::string device_;
  int workers_per_node_;
  int ranks_;
  double compute_scale_ = 1;
};

}  // namespace paragrad::worlds
