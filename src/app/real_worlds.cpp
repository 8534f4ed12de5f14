#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "app/command.hpp"
#include "app/mapping_faults.hpp"
#include "app/world.hpp"
#include "comm/allreduce.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/errors.hpp"
#include "core/files.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"
#include "hosting/hosting.hpp"

namespace paragrad::app {
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
  print_error(message);
  session.abort(code);
}

/// The same for a fault in a mapped file, with a complete line: nothing may be allocated there.
[[noreturn]] void fail_in_mapping(comm::MpiSession& session, const char* line) {
  let_rank_0_go_first(session);
  std::fputs(line, stderr);
  std::fflush(stderr);
  session.abort(user_error);
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

/// Rank 0's value.
int spread(comm::Communicator& comm, int mine) {
  double value = comm.rank() == 0 ? mine : 0;
  comm::sum_in_rank_order(comm, {&value, 1});
  return static_cast<int>(value);
}

/// A rank's part of a job.
void take_part(comm::Worker& worker, Job& job) {
  comm::Communicator& comm = worker.comm();
  const Process process{.rank = comm.rank(), .workers = 1, .size = comm.size()};
  int needed = 0;
  have_all(comm, [&] {
    if (process.leads()) needed = job.is_needed() ? 1 : 0;
  });
  if (spread(comm, needed) == 0) return;
  have_all(comm, [&] { job.prepare(process); });
  job.adopt(spread(comm, job.finding()));
  job.work(worker, {});
  if (process.leads()) job.finish(nullptr);
}

class MpiWorld : public World {
 public:
  MpiWorld(const std::string& device, const RealWorkers& workers, const RankDeaths& deaths)
      : device_(device), workers_(workers), deaths_(deaths) {
    deaths_.guard.end_code = peer_failure;
  }

  const char* name() const override { return "mpi"; }
  const char* clock() const override { return "wall"; }
  int run(Job& job) override;

 private:
  void check_ranks(int ranks) const;

  std::string device_;
  RealWorkers workers_;
  RankDeaths deaths_;
};

void MpiWorld::check_ranks(int ranks) const {
  if (workers_.count > 0 && workers_.count != ranks)
    throw core::ConfigError(
        core::format("--workers and --servers need {} ranks, but mpiexec has started {}: start {}, or leave mpiexec out",
                     workers_.count, ranks, workers_.count));
}

/// An error is printed and ends the other ranks too.
int MpiWorld::run(Job& job) {
  comm::MpiSession session(deaths_.deaths, deaths_.guard);
  const MappingFaultEnd on_fault([&](const char* line) { fail_in_mapping(session, line); });
  try {
    const auto device = backend::make_device(device_);
    comm::MpiCommunicator communicator(*device);
    comm::MpiWorker worker(communicator, &session);
    if (workers_.per_node > 0) communicator.set_workers_per_node(workers_.per_node);
    try {
      have_all(communicator, [&] { check_ranks(communicator.size()); });
      take_part(worker, job);
    } catch (const AgreedMistake& mistake) {
      if (session.rank() == 0) print_error(mistake.text);
      return user_error;
    }
    if (!worker.part()) session.leave(success);
    return success;
  } catch (const core::ConfigError& error) {
    fail(session, error.what(), user_error);
  } catch (const std::filesystem::filesystem_error& error) {
    fail(session, core::describe(error), user_error);
  } catch (const comm::PeerGone& error) {
    wait_for_its_guard();
    fail(session, error.what(), peer_failure);
  } catch (const std::bad_alloc&) {
    fail(session, core::out_of_memory(), user_error);
  } catch (const comm::Failure& error) {
    fail(session, error.what(), peer_failure);
  } catch (const std::exception& error) {
    fail(session, core::format("internal error: {}", error.what()), internal_error);
  }
}

class SoloWorld : public World {
 public:
  explicit SoloWorld(const std::string& device) : device_(device) {}

  const char* name() const override { return "single"; }
  const char* clock() const override { return "wall"; }
  int run(Job& job) override {
    if (!job.is_needed()) return success;
    job.prepare({});
    job.adopt(job.finding());
    const auto device = backend::make_device(device_);
    comm::SoloCommunicator communicator(*device);
    comm::RealWorker worker(communicator);
    job.work(worker, {});
    job.finish(nullptr);
    return success;
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
    if (!job.is_needed()) return success;
    job.prepare({.rank = 0, .workers = workers_.count, .size = workers_.count});
    job.adopt(job.finding());
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));  // that this process may use
    hosting::run(workers_.count,
                 {.threads = std::min(cores, workers_.count), .device = device_, .workers_per_node = workers_.per_node},
                 [&](comm::Worker& worker) { job.work(worker, {}); });
    job.finish(nullptr);
    return success;
  }

 private:
  std::string device_;
  RealWorkers workers_;
};

}  // namespace

std::unique_ptr<World> make_real_world(const std::string& device, const RealWorkers& workers, const RankDeaths& deaths) {
  if (comm::under_mpiexec()) return std::make_unique<MpiWorld>(device, workers, deaths);
  if (workers.count > 1) return std::make_unique<HostedWorld>(device, workers);
  return std::make_unique<SoloWorld>(device);
}

}  // namespace paragrad::app
