#pragma once

#include <memory>
#include <string>

#include "comm/mpi/rank_guard.hpp"

namespace paragrad::comm {

/// True if this process was started by mpiexec, mpirun or srun (seen from its environment; MPI is not touched).
bool under_mpiexec();

/// How many processes the launcher announced in the environment, for the launchers known to under_mpiexec(); 0: none.
int announced_ranks();

/// Whether a launcher that announces no number announced that this process is not the first.
bool follows_others();

/// For a process that is to report an error before MPI begins. Most such errors are the same in all ranks: the first reports
/// its own at once and then ends the others, so they wait for a second before they speak. Returns at once in the first rank,
/// and without a launcher.
void let_first_rank_speak();

/// For a process that is not under_mpiexec(): throws ConfigError if Slurm, PALS, Flux, LSF or another launcher has started
/// several of its kind together, which would not know of each other.
void require_no_lonely_task();

/// The MPI library and its version, "MPICH 4.0.2"; "none" if this build has no MPI. MPI need not be initialised.
std::string mpi_description();

/// MPI from initialisation to finalisation; one per process, and it must outlive every MpiCommunicator.
/// Requests full thread support and accepts what the library grants.
///
/// A worker that ends early must end the others too, or they would wait for it forever: report the error and call abort().
/// An exception that unwinds past the session or an exit() in its lifetime does the same, with a line on stderr and a
/// nonzero exit code. If a signal kills a worker, its guard names it and ends the others (RankGuard); without a guard (under
/// a debugger, or another launcher) the launcher does that.
///
/// Construct it before starting threads or using devices: it forks the process.
///
/// If MPI is initialised already, by mpi4py or another library in this process, a session uses it and leaves it initialised:
/// there may be several, one after the other. Then no guard watches, as that would have to be there before MPI.
///
/// Throws  core::ConfigError if this build has no MPI, or if the launcher announced several ranks but this one finds itself
///         alone (another library's mpiexec).
///
/// If the workers can continue without one of them (asynchronous training), make the session with Deaths::may_be_survived
/// and call set_death as soon as that is so; then a worker killed by a signal does not end the others. They notice it
/// through Membership::is_gone and PeerGone. After a death MPI cannot be finalised: MPI_Finalize would wait forever. So
/// the survivors leave(), each with its own exit code; the launcher returns the worst of these, counting 0 for the killed
/// one.
///
/// UCX, which MPICH may use, lets a receiver copy large messages from the sender's memory (rendezvous by process_vm_readv),
/// and terminates the receiver if the sender has just been killed. Such a session therefore makes UCX send messages of any
/// size eagerly (UCX_RNDV_THRESH=inf), unless the user has set that variable.
class MpiSession {
 public:
  enum class Deaths { end_all, may_be_survived };

  explicit MpiSession(Deaths deaths = Deaths::end_all, const GuardOptions& guard = {});
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  bool deaths_may_be_survived() const { return deaths_ == Deaths::may_be_survived && guard_ != nullptr; }

  int rank() const;
  int size() const;

  /// What the death of this worker means to the others from now on; initially it ends the run. Has no effect without
  /// may_be_survived.
  void set_death(RankGuard::Death death);

  /// Ends this process at once, without destructors and without MPI_Finalize, and lets the others continue: for a worker
  /// that has done all its work after a peer died (MpiWorker::part).
  [[noreturn]] void leave(int code);

  /// Ends all workers within a second; the launcher returns a nonzero code (`code`, if it passes codes on).
  [[noreturn]] void abort(int code);

 private:
  struct ExitWatch;
  void initialise(const GuardOptions& guard);

  Deaths deaths_;
  std::unique_ptr<RankGuard> guard_;  // before MPI begins
  bool owns_mpi_;                     // or MPI was there before
  ExitWatch* watch_ = nullptr;        // belongs to the handler that exit() runs, which may outlive the session
  int uncaught_exceptions_at_start_;
};

}  // namespace paragrad::comm
