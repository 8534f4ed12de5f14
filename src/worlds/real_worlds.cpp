#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "cli/command.hpp"
#include "comm/allreduce.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/memory.hpp"
#include "hosting/hosting.hpp"
#include "system/cores.hpp"
#include "system/files.hpp"
#include "system/mapping_fault_handler.hpp"
#include "worlds/world.hpp"

namespace paragrad::worlds {
namespace {

/// A user error that all ranks know about, so that no rank waits for another.
struct AgreedMistake {
  std::string text;
};

/// Most errors occur on all ranks: rank 0 prints first, and usually alone.
void let_rank_0_go_first(const comm::MpiSession& session) {
  if (session.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
}

/// Prints an error of this rank and ends the other ranks too.
[[noreturn]] void fail(comm::MpiSession& session, const std::string& message, int code) {
  let_rank_0_go_first(session);
  cli::print_error(message);
  session.abort(code);
}

/// The same for a fault in a mapped file, with a complete line: nothing may be allocated there.
[[noreturn]] void fail_in_mapping(comm::MpiSession& session, const char* line) {
  let_rank_0_go_first(session);
  std::fputs(line, stderr);
  std::fflush(stderr);
  session.abort(cli::user_error);
}

/// The guard of a killed rank names it and ends all ranks. If it has no guard, the ranks that miss it report.
void wait_for_its_guard() { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); }

/// Has all ranks act. A ConfigError on any rank ends all with user_error and one line on stderr, from the lowest rank that
/// has an error.
void have_all(comm::Communicator& comm, const std::function<void()>& action) {
  try {
    comm::agree(comm, action);
  } catch (const core::ConfigError& error) {
    throw AgreedMistake{error.what()};
  }
}

/// The same if the facts of the ranks differ.
void have_same(comm::Communicator& comm, const RankFacts& facts) {
  try {
    require_same(comm, facts);
  } catch (const core::ConfigError& error) {
    throw AgreedMistake{error.what()};
  }
}

/// Returns the exit code.
int end_with_mistakes(const comm::MpiSession& session, const std::function<void()>& action) {
  try {
    action();
    return cli::success;
  } catch (const AgreedMistake& mistake) {
    if (session.rank() == 0) cli::print_error(mistake.text);
    return cli::user_error;
  }
}

/// Rank 0's value.
int spread(comm::Communicator& comm, int mine) {
  double value = comm.rank() == 0 ? mine : 0;
  comm::sum_in_rank_order(comm, {&value, 1});
  return static_cast<int>(value);
}

/// A rank's part of a job. work: of the workers of this process.
void take_part(comm::Communicator& ranks, const Process& process, Job& job, const std::function<void()>& work) {
  int needed = 0;
  have_all(ranks, [&] {
    if (process.leads()) needed = job.is_needed() ? 1 : 0;
  });
  if (spread(ranks, needed) == 0) return;
  have_all(ranks, [&] { job.prepare(process); });
  have_same(ranks, job.facts());
  job.adopt(spread(ranks, job.finding()));
  work();
  if (process.leads()) job.finish(nullptr);
}

class MpiWorld : public World {
 public:
  MpiWorld(RankFacts facts, const std::string& device, const RealWorkers& workers, const RankDeaths& deaths)
      : facts_(std::move(facts)), device_(device), workers_(workers), deaths_(deaths) {
    deaths_.guard.end_code = cli::peer_failure;
  }

  const char* name() const override { return "mpi"; }
  const char* clock() const override { return "wall"; }
  void describe(core::Json& manifest) const override {
    if (ranks_ > 0) manifest["run"]["ranks"] = ranks_;
  }
  int run(Job& job) override;

 private:
  void check_ranks(int ranks) const;
  int be_worker(comm::MpiCommunicator& ranks, comm::MpiSession& session, Job& job) const;
  int host_workers(comm::MpiCommunicator& ranks, const comm::MpiSession& session, Job& job);

  RankFacts facts_;  // of the command
  std::string device_;
  RealWorkers workers_;
  RankDeaths deaths_;
  int ranks_ = 0;  // that share the workers; 0: each is one
};

void MpiWorld::check_ranks(int ranks) const {
  if (workers_.count > 0 && workers_.count < ranks)
    throw core::ConfigError(
        core::format("--workers and --servers add up to {}, but mpiexec has started {} ranks: start at most {}",
                     workers_.count, ranks, workers_.count));
}

int MpiWorld::be_worker(comm::MpiCommunicator& ranks, comm::MpiSession& session, Job& job) const {
  if (workers_.per_node > 0) ranks.set_workers_per_node(workers_.per_node);
  comm::MpiWorker worker(ranks, &session);
  const Process process{.rank = ranks.rank(), .workers = 1, .size = ranks.size()};
  const int code = end_with_mistakes(session, [&] { take_part(ranks, process, job, [&] { job.work(worker, {}); }); });
  if (code == cli::success && !worker.part()) session.leave(cli::success);
  return code;
}

/// For a rank with several workers, or one of them next to ranks with several.
int MpiWorld::host_workers(comm::MpiCommunicator& ranks, const comm::MpiSession& session, Job& job) {
  ranks_ = ranks.size();
  const hosting::Placement placement{workers_.count, ranks.size()};
  const Process process{
      .rank = placement.first(ranks.rank()), .workers = placement.count(ranks.rank()), .size = workers_.count};
  const auto carrier = backend::make_device(device_);
  comm::MpiCommunicator messages(ranks, *carrier);
  const hosting::HostingOptions options{.threads = std::min(ranks.cores(), process.workers),
                                        .device = device_,
                                        .workers_per_node = workers_.per_node,
                                        .processes = &messages};
  return end_with_mistakes(session, [&] {
    take_part(ranks, process, job,
              [&] { hosting::run(process.size, options, [&](comm::Worker& worker) { job.work(worker, {}); }); });
  });
}

/// An error is printed and ends the other ranks too.
int MpiWorld::run(Job& job) {
  comm::MpiSession session(deaths_.deaths, deaths_.guard);
  const system::MappingFaultEnd on_fault([&](const char* line) { fail_in_mapping(session, line); });
  try {
    const auto device = backend::make_device(device_);
    comm::MpiCommunicator ranks(*device);
    const int code = end_with_mistakes(session, [&] {
      have_same(ranks, facts_);
      have_all(ranks, [&] { check_ranks(ranks.size()); });
    });
    if (code != cli::success) return code;
    return workers_.count > ranks.size() ? host_workers(ranks, session, job) : be_worker(ranks, session, job);
  } catch (const core::ConfigError& error) {
    fail(session, error.what(), cli::user_error);
  } catch (const std::filesystem::filesystem_error& error) {
    fail(session, system::describe(error), cli::user_error);
  } catch (const comm::PeerGone& error) {
    wait_for_its_guard();
    fail(session, error.what(), cli::peer_failure);
  } catch (const std::bad_alloc&) {
    fail(session, core::out_of_memory(), cli::user_error);
  } catch (const comm::Failure& error) {
    fail(session, error.what(), cli::peer_failure);
  } catch (const std::exception& error) {
    fail(session, core::format("internal error: {}", error.what()), cli::internal_error);
  }
}

class SoloWorld : public World {
 public:
  explicit SoloWorld(const std::string& device) : device_(device) {}

  const char* name() const override { return "single"; }
  const char* clock() const override { return "wall"; }
  int run(Job& job) override {
    if (!job.is_needed()) return cli::success;
    job.prepare({});
    job.adopt(job.finding());
    const auto device = backend::make_device(device_);
    comm::SoloCommunicator communicator(*device);
    comm::RealWorker worker(communicator);
    job.work(worker, {});
    job.finish(nullptr);
    return cli::success;
  }

 private:
  std::string device_;
};

/// Several workers in this process.
class HostedWorld : public World {
 public:
  HostedWorld(const std::string& device, const RealWorkers& workers) : device_(device), workers_(workers) {}

  const char* name() const override { return "hosted"; }
  const char* clock() const override { return "wall"; }
  int run(Job& job) override {
    if (!job.is_needed()) return cli::success;
    job.prepare({.rank = 0, .workers = workers_.count, .size = workers_.count});
    job.adopt(job.finding());
    hosting::run(workers_.count,
                 {.threads = std::min(system::available_cores(), workers_.count),
                  .device = device_,
                  .workers_per_node = workers_.per_node},
                 [&](comm::Worker& worker) { job.work(worker, {}); });
    job.finish(nullptr);
    return cli::success;
  }

 private:
  std::string device_;
  RealWorkers workers_;
};

}  // namespace

std::unique_ptr<World> make_real_world(const RankFacts& facts, const std::string& device, const RealWorkers& workers,
                                       const RankDeaths& deaths) {
  if (comm::under_mpiexec()) return std::make_unique<MpiWorld>(facts, device, workers, deaths);
  comm::require_no_lonely_task();
  if (workers.count > 1) return std::make_unique<HostedWorld>(device, workers);
  return std::make_unique<SoloWorld>(device);
}

}  // namespace paragrad::worlds
