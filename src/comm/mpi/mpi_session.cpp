#include "comm/mpi/mpi_session.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "comm/communicator.hpp"
#include "comm/mpi/mpi_call.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm {
namespace {

// Hydra stops forwarding output as soon as it receives an abort: earlier output must have passed through by then.
void flush_output() {
  std::fflush(nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

// Disabling the transport that copies from the sender (UCX_TLS=^cma) would be slower: without InfiniBand, rendezvous then
// uses TCP even within a node. Training with messages of 1 MB ran at 0.75 of the speed with copies when sending eagerly, and
// at 0.5 over TCP.
void leave_memory_of_others_alone() { setenv("UCX_RNDV_THRESH", "inf", 0); }

void abort_all(int code) {
  flush_output();
  MPI_Abort(MPI_COMM_WORLD, code);
}

}  // namespace

struct MpiSession::ExitWatch {
  bool session_lives = true;

  /// For on_exit, which is atexit with an argument: avoids a static pointer to the session.
  static void at_exit(int code, void* argument) {
    const std::unique_ptr<ExitWatch> watch(static_cast<ExitWatch*>(argument));
    if (!watch->session_lives) return;
    std::fprintf(stderr, "worker %d exits in the middle of the run and ends the others\n", world_rank());
    abort_all(code == 0 ? 1 : code);
  }

  static int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
};

// MPICH begins with "MPICH Version:\t4.0.2\n", Open MPI with "Open MPI v4.1.4, package: ...".
std::string mpi_description() {
  std::string text(std::max(MPI_MAX_LIBRARY_VERSION_STRING, 8192),
                   '\0');  // another library's text may be longer
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "unknown";
  text.resize(std::min(text.find_first_of(",\n"), static_cast<std::size_t>(length)));
  constexpr std::string_view label = " Version:";
  if (const auto at = text.find(label); at != std::string::npos) text.erase(at, label.size());
  std::ranges::replace(text, '\t', ' ');
  return text.substr(0, text.find('\0'));
}

namespace {

/// The process may have another library, for example by mpi4py, in which the constants of this one's mpi.h mean something
/// else.
void check_library() {
#ifdef OPEN_MPI
  constexpr std::string_view wanted = "Open MPI", other = "MPICH";
#else
  constexpr std::string_view wanted = "MPICH", other = "Open MPI";
#endif
  if (const std::string found = mpi_description(); found.starts_with(other))
    throw core::ConfigError(core::format(
        "this program was built with {}, but the process uses {}: use one MPI library for all (mpi4py: MPI4PY_MPIABI)",
        wanted, found));
}

}  // namespace

void throw_mpi_failure(int rank, const std::string& doing, int code) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  text.resize(length);
  throw Failure(core::format("worker {}: {}: {}", rank, doing, text.empty() ? core::format("MPI error {}", code) : text));
}

MpiSession::MpiSession(Deaths deaths, const GuardOptions& guard)
    : deaths_(deaths), uncaught_exceptions_at_start_(std::uncaught_exceptions()) {
  check_library();
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (finalised)
    throw core::ConfigError(
        "MPI was finalised in this process and cannot be initialised again: import mpi4py.MPI before the first training, "
        "which keeps it initialised");
  owns_mpi_ = !initialised;
  if (owns_mpi_) initialise(guard);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (const int announced = announced_ranks(); size() == 1 && (announced > 1 || (announced == 0 && follows_others()))) {
    if (owns_mpi_) MPI_Finalize();
    throw core::ConfigError(core::format(
        "{} ranks were started, but each finds itself alone: their launcher does not work with {}; use the library's own "
        "mpiexec, or Slurm's srun with PMI2 for MPICH and PMIx for Open MPI (MPICH on Ubuntu 24.04: see "
        "experiments/cluster/README.md)",
        announced > 0 ? core::format("{}", announced) : "several", mpi_description()));
  }
  auto watch = std::make_unique<ExitWatch>();
  if (on_exit(ExitWatch::at_exit, watch.get()) == 0) watch_ = watch.release();
}

void MpiSession::initialise(const GuardOptions& guard) {
  const bool survivable = deaths_ == Deaths::may_be_survived;
  if ((survivable || RankGuard::launcher_listens()) && !RankGuard::is_traced()) guard_ = RankGuard::split(guard);
  if (survivable) leave_memory_of_others_alone();
  int provided = 0;
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided); code != MPI_SUCCESS)
    throw Failure(core::format("MPI_Init_thread failed with code {}", code));
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() > uncaught_exceptions_at_start_) {
    std::fprintf(stderr, "worker %d ends early and ends the others\n", rank());
    abort(1);
  }
  if (owns_mpi_) MPI_Finalize();
  if (watch_ != nullptr) watch_->session_lives = false;
}

int MpiSession::rank() const { return ExitWatch::world_rank(); }

int MpiSession::size() const {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void MpiSession::set_death(RankGuard::Death death) {
  if (deaths_may_be_survived()) guard_->set_death(death);
}

void MpiSession::leave(int code) {
  flush_output();
  if (watch_ != nullptr) watch_->session_lives = false;
  take_leave_of_launcher();
  std::_Exit(code);
}

void MpiSession::abort(int code) {
  if (watch_ != nullptr) watch_->session_lives = false;  // MPI_Abort may call exit()
  abort_all(code);
  std::_Exit(code);
}

}  // namespace paragrad::comm
