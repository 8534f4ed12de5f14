#pragma once

#include <memory>
#include <string>

#include "comm/mpi/rank_guard.hpp"

namespace paragrad::comm {

/// True if this process was started by mpiexec, mpirun or srun (seen from its environment; MPI is not touched).
bool under_mpiexec();

/// How many processes the launcher says it started, of those that under_mpiexec() knows; 0: it says nothing.
int announced_ranks();

/// The MPI library and its version, "MPICH 4.0.2"; "none" where this build has no MPI. MPI need not have begun.
std::string mpi_description();

/// MPI from its initialisation to its end; one per process, before and after every MpiCommunicator.
/// Asks for full thread support and takes what there is.
///
/// A worker that ends early must take the others with it, or they would wait for it for ever: report the error and call
/// abort(). An exception that unwinds past the session and an exit() in its lifetime do so too, with a line on stderr and a
/// code other than 0. Where a signal kills a worker, its guard names it and ends the others (RankGuard); without a guard
/// (under a debugger, or another launcher) the launcher does that.
///
/// Construct it before threads are started and devices used: it splits the process.
///
/// Throws  core::ConfigError where this build has no MPI, or where the launcher says that it started several ranks, and this
///         one finds itself alone (another library's mpiexec).
///
/// Where the workers can go on without one of them (asynchronous training), the session is made with Deaths::may_be_survived
/// and told when that is so; then a worker that a signal kills does not take the others along. What they see of it:
/// Communicator::is_gone and PeerGone. MPI itself cannot be ended in common after a death: MPI_Finalize would wait for ever.
/// So they leave, each with its own exit code; the launcher returns the worst of these, and 0 of the one that was killed.
///
/// UCX, on which MPICH may lie, lets a receiver copy large messages out of the sender's memory (rendezvous by
/// process_vm_readv), and ends the process that does so when the sender has just been killed. Such a session has it send
/// messages of any size eagerly (UCX_RNDV_THRESH=inf), unless the user has set that variable.
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

  /// What the death of this worker means to the others from now on; at first it ends the run. Nothing without
  /// may_be_survived.
  void set_death(RankGuard::Death death);

  /// Ends this process at once, without its destructors and without MPI_Finalize, and lets the others go on: for a worker
  /// that has done all its work after a peer has died (MpiWorker::part).
  [[noreturn]] void leave(int code);

  /// Ends all workers within a second; the launcher returns a code other than zero (`code`, where it passes codes on).
  [[noreturn]] void abort(int code);

 private:
  struct ExitWatch;
  Deaths deaths_;
  std::unique_ptr<RankGuard> guard_;  // before MPI begins
  ExitWatch* watch_ = nullptr;        // belongs to the handler that exit() runs, which may outlive the session
  int uncaught_exceptions_at_start_;
};

}  // namespace paragrad::comm
