#include "worlds/sim_world.hpp"

#include <algorithm>
#include <utility>

#include "cli/command.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "system/cores.hpp"
#include "worlds/shared_options.hpp"

namespace paragrad::worlds {
namespace {

/// Faults refer to nodes and links of the file, so nodes can be added but not removed.
void extend(sim::Platform& platform, int nodes) {
  if (nodes < platform.nodes)
    throw core::ConfigError(core::format("--nodes {}: '{}' already has {} nodes, and the number can only grow", nodes,
                                         platform.file, platform.nodes));
  if (nodes > 1 && platform.leaf.bytes_per_s == 0)
    throw core::ConfigError(
        core::format("--nodes {}: '{}' needs a section [leaf] for more than one node", nodes, platform.file));
  platform.nodes = nodes;
}

/// Faults refer to devices, and devices are divided among sockets and NICs.
void leave_devices_out(sim::Platform& platform, int devices_per_node) {
  const int least = std::max(platform.sockets_per_node, platform.leaf.nics_per_node);
  if (devices_per_node > platform.devices_per_node || devices_per_node < least)
    throw core::ConfigError(
        core::format("--devices-per-node {}: the nodes of '{}' have {} devices, of which at least {} must be used",
                     devices_per_node, platform.file, platform.devices_per_node, least));
  if (!platform.faults.empty())
    throw core::ConfigError(
        core::format("--devices-per-node {}: '{}' has faults, which refer to a cluster that uses all its devices; leave the "
                     "option out",
                     devices_per_node, platform.file));
  platform.devices_per_node = devices_per_node;
}

/// Number of threads that compute. More than the machine has cores for would only cost memory.
int host_threads(int wanted) {
  const int cores = system::available_cores();
  const int most = std::max(256, 4 * cores);
  if (wanted > most)
    cli::print_error(
        core::format("--host-threads {} is more than the {} cores of this machine can use: using {}", wanted, cores, most));
  return wanted == 0 ? cores : std::min(wanted, most);
}

}  // namespace

sim::Platform with_options(sim::Platform platform, const SimWorldArguments& arguments) {
  if (arguments.devices_per_node > 0) leave_devices_out(platform, arguments.devices_per_node);
  if (arguments.nodes > 0) extend(platform, arguments.nodes);
  if (arguments.device_rate.step_cost_s) platform.program.step_cost_s = *arguments.device_rate.step_cost_s;
  return platform;
}

void SimWorldArguments::describe(core::OptionList& list, bool may_be_real) {
  const bool emulated = !may_be_real || !platform.empty(), among_ranks = may_be_real && comm::under_mpiexec();
  const char* const only_ranks = "is for emulated workers, and under mpiexec the ranks are the workers: leave it out";
  const char* const without_platform = "is for emulated workers: give `platform`, too";
  list.group("Simulation");
  const core::DescribedOption cluster = describe_platform(list, platform).when(!among_ranks, only_ranks);
  if (!may_be_real && needs_platform) cluster.required().mark(core::OptionMark::common);
  if (one_number_of_workers) {
    const core::DescribedOption number =
        list.number("workers", workers, {.least = 1, .most = 10000000}, "number of emulated workers")
            .mark(core::OptionMark::tabled, core::OptionMark::rescalable)
            .when(!among_ranks, only_ranks)
            .when(emulated, without_platform);
    if (!may_be_real) number.mark(core::OptionMark::common);
  }
  const auto condition = list.only_when(emulated, without_platform);
  list.choice("io", io, {"none", "blocking", "prefetch"},
              "how workers read splits from the platform's file system: none (no reading time), blocking (on demand), or "
              "prefetch (while the previous split is processed)");
  list.number("sample-bytes", sample_bytes, {.least = 0, .most = 1'000'000'000'000},
              "bytes read per sample (0: as stored, or 4 per input without a data file)")
      .when(io != "none", "needs `io` blocking or `io` prefetch", "io");
  list.number("nodes", nodes, {.least = 0, .most = 10000000},
              "number of nodes, at least as many as in the platform file (0: as in the file)");
  list.number("devices-per-node", devices_per_node, {.least = 0, .most = 1000000},
              "devices to use on each node; other workers go to further nodes (0: all)");
  describe_network(list, network);
  describe_oversubscribe(list, oversubscribe);
  list.choice("fast-collectives", fast_collectives, {"auto", "off"},
              "auto: with `device` meta, time an allreduce as a whole where that gives the same times; off: always simulate "
              "it message by message");
  list.number("host-threads", host_threads, {.least = 0, .most = 2000000000},
              "threads of this machine to use; affects nothing but speed (0: one per core)")
      .mark(core::OptionMark::observes);
}

std::unique_ptr<World> make_world(const RankFacts& facts, const SimWorldArguments& arguments, const std::string& device) {
  if (arguments.platform.empty() || comm::under_mpiexec()) return make_real_world(facts, device);
  return std::make_unique<SimWorld>(arguments, device);
}

void print_simulated_time(const core::Json& world) {
  if (!world.is_null())
    fmt::print("simulated time {}\n", core::format_quantity(world.at("makespan_s").get<double>(), core::Unit::time));
}

SimWorld::SimWorld(const SimWorldArguments& arguments, const std::string& device, int workers_per_node)
    : arguments_(arguments),
      platform_(with_options(sim::read_platform(arguments.platform), arguments)),
      device_(device),
      workers_per_node_(workers_per_node),
      ranks_(arguments.workers) {}

void SimWorld::describe(core::Json& manifest) const {
  manifest["platform"] = {{"name", platform_.name}, {"file_sha256", platform_.sha256}, {"nodes", platform_.nodes}};
}

int SimWorld::run(Job& job) {
  if (job.is_needed()) run_until(job, nullptr, {});
  return cli::success;
}

void SimWorld::set_platform(sim::Platform platform) {
  if (workers_per_node_ == 0) workers_per_node_ = platform_.workers_per_node(ranks_);
  platform_ = std::move(platform);
  arguments_.oversubscribe = true;
}

bool SimWorld::run_until(Job& job, const std::function<bool(double)>& stop_when, const Past& past) {
  if (arguments_.io != "none" && !platform_.storage)
    throw core::ConfigError(core::format("--io {} needs a file system: add a section [storage] to the platform file '{}'",
                                         arguments_.io, arguments_.platform));
  job.prepare({.rank = 0, .workers = ranks_, .size = ranks_});
  job.adopt(job.finding());
  const int threads = host_threads(arguments_.host_threads);
  Instruments* const instruments = job.instruments();
  const auto on_transfer = instruments != nullptr ? instruments->on_transfer() : nullptr;
  const sim::SimulationOptions options{.host_threads = threads,
                                       .device = device_,
                                       .network = arguments_.network,
                                       .io = arguments_.io,
                                       .row_bytes = arguments_.sample_bytes > 0 ? arguments_.sample_bytes : job.row_bytes(),
                                       .oversubscribe = arguments_.oversubscribe,
                                       .compute_scale = compute_scale_,
                                       .workers_per_node = workers_per_node_,
                                       .stop_when = stop_when,
                                       .on_transfer = on_transfer,
                                       .shortcuts = arguments_.fast_collectives == "auto" && !on_transfer};
  const sim::Report report = sim::run(platform_, ranks_, options, [&](sim::EmulatedWorker& worker) {
    AddedTime added{.reading = [&](auto samples) { return worker.read_from_storage(std::move(samples)); }};
    if (platform_.failures && platform_.failures->save_s > 0)
      added.saving = [&] { worker.pass(platform_.failures->save_s); };
    job.work(worker, added);
  });
  if (report.stopped) return false;
  core::Json world = {{"makespan_s", past.duration_s + report.makespan_s},
                      {"messages", report.messages},
                      {"bytes", report.bytes},
                      {"fast_collectives", report.shortcuts}};
  if (!report.busiest_link.empty() && past.duration_s == 0)  // after a failure the report is of the last part only
    world["busiest_link"] = {{"name", report.busiest_link}, {"share", report.busiest_share}};
  world.update(past.record);
  job.finish(world);
  if (static_cast<int>(report.host_threads) < threads)
    cli::print_error(
        core::format("only {} of {} host threads could be started; the run was slower, but its results are the same",
                     report.host_threads, threads));
  return true;
}

}  // namespace paragrad::worlds
