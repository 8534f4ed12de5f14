#include "worlds/failing_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/command.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "train/state/progress_file.hpp"

namespace paragrad::worlds {
namespace {

using Fault = sim::Platform::Fault;

bool is_death(const Fault& fault) {
  return fault.kind == Fault::Kind::worker && fault.factor == 0 && std::isinf(fault.duration_s);
}

/// Times at which the platform file has a worker die.
std::vector<double> scripted_deaths(const sim::Platform& platform, int workers) {
  std::vector<double> times_s;
  for (const Fault& fault : platform.faults)
    if (is_death(fault) && fault.id < workers) times_s.push_back(fault.at_s);
  return times_s;
}

/// The part of a fault that is left at `clock_s`, which becomes time 0; nothing if it is over.
std::optional<Fault> left_of(Fault fault, double clock_s) {
  fault.at_s -= clock_s;
  if (fault.at_s >= 0) return fault;
  fault.duration_s += fault.at_s;
  fault.at_s = 0;
  return fault.duration_s > 0 ? std::optional(fault) : std::nullopt;
}

/// No more nodes than the workers need.
sim::Platform with_needed_nodes(sim::Platform platform, int workers) {
  const int devices = platform.devices_per_node;
  platform.nodes = std::min(platform.nodes, (workers + devices - 1) / devices);
  return platform;
}

std::string nodes(int count) { return core::format("{} node{}", count, count == 1 ? "" : "s"); }

std::string blocks(std::size_t count) { return core::format("{} block{}", count, count == 1 ? "" : "s"); }

}  // namespace

FailingCluster::FailingCluster(SimWorld& world, int workers, std::string state_folder, bool quiet)
    : world_(world),
      whole_(with_needed_nodes(world.platform(), workers)),
      state_folder_(std::move(state_folder)),
      quiet_(quiet),
      outages_(*whole_.failures, whole_.nodes, whole_.devices_per_node, 0, scripted_deaths(whole_, workers)) {
  counts_.least_nodes = whole_.nodes;
}

int FailingCluster::run(const MakeJob& make_job) {
  constexpr int most_fruitless = 100;
  Resumption resumption;
  while (fruitless_ < most_fruitless) {
    const double failure_s = outages_.next_failure_s(clock_s_), rejoin_s = outages_.next_rejoin_s(clock_s_);
    double now_s = clock_s_;
    bool may_rejoin = false;
    resumption.after_saving = [&] {
      fruitless_ = 0;
      may_rejoin = now_s >= rejoin_s;
    };
    const auto job = make_job(resumption);
    world_.set_platform(platform_now());
    const auto stop_when = [&](double since_s) {
      now_s = clock_s_ + since_s;
      return may_rejoin || now_s >= failure_s;
    };
    if (world_.run_until(*job, stop_when, {clock_s_, history()})) return cli::success;
    if (now_s >= failure_s)
      fail(failure_s);
    else
      rejoin(now_s);
    resumption.at_s = clock_s_;
  }
  throw core::ConfigError(core::format(
      "'{}': {} failures in a row came before the next state was saved: save it more often, or let devices fail less often",
      whole_.file, most_fruitless));
}

void FailingCluster::fail(double at_s) {
  clock_s_ = at_s;
  outages_.lose_node(at_s);
  const std::size_t again = train::lost_work(state_folder_).value_or(train::LostWork{}).blocks;
  ++fruitless_;
  ++counts_.failures;
  counts_.blocks_again += again;
  stop(whole_.failures->restart_s);
  if (outages_.working() == 0) stop(outages_.next_rejoin_s(clock_s_) - clock_s_);
  say(core::format("a node failed at {}: {} of {} go on{}", core::format_quantity(at_s, core::Unit::time),
                   outages_.working(), nodes(whole_.nodes),
                   again == 0 ? "" : core::format("; {} to be trained again", blocks(again))));
}

void FailingCluster::rejoin(double at_s) {
  clock_s_ = at_s;
  outages_.rejoin(at_s);
  stop(whole_.failures->rejoin_s);
  say(core::format("{} of {} go on after repairs at {}", outages_.working(), nodes(whole_.nodes),
                   core::format_quantity(at_s, core::Unit::time)));
}

void FailingCluster::stop(double duration_s) {
  counts_.stopped_s += duration_s;
  const auto before = outages_.lost();
  clock_s_ = outages_.stop(clock_s_, duration_s);
  counts_.failures += static_cast<int>(outages_.lost() - before);
  counts_.least_nodes = std::min(counts_.least_nodes, outages_.working());
}

sim::Platform FailingCluster::platform_now() const {
  sim::Platform platform = whole_;
  platform.nodes = outages_.working();
  platform.faults.clear();
  for (const Fault& fault : whole_.faults)
    if (const auto left = is_death(fault) ? std::nullopt : left_of(fault, clock_s_)) platform.faults.push_back(*left);
  return platform;
}

core::Json FailingCluster::history() const {
  return {{"failures",
           {{"failures", counts_.failures},
            {"blocks_again", counts_.blocks_again},
            {"stopped_s", counts_.stopped_s},
            {"least_nodes", counts_.least_nodes}}}};
}

void FailingCluster::say(const std::string& line) const {
  if (quiet_) return;
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace paragrad::worlds
