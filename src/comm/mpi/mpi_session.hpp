#pragma once

namespace paragrad::comm {

/// True if this process was started by mpiexec, mpirun or srun (seen from its environment; MPI is not touched).
bool under_mpiexec();

/// MPI from its initialisation to its end; one per process, before and after every MpiCommunicator.
/// Asks for full thread support and takes what there is.
///
/// A worker that ends early must take the others with it, or they would wait for it for ever: report the error and call
/// abort(). An exception that unwinds past the session and an exit() in its lifetime do so too, with a line on stderr and a
/// code other than 0. Of a worker that a signal kills the launcher takes care.
///
/// Throws  core::ConfigError where this build has no MPI.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const;
  int size() const;

  /// Ends this worker, and lets the others go on: for those that are left when one is gone, which a proper end would wait
  /// for.
  [[noreturn]] void leave(int code);

  /// Ends all workers within a second; the launcher returns a code other than zero (`code`, where it passes codes on).
  [[noreturn]] void abort(int code);

 private:
  struct ExitWatch;
  ExitWatch* watch_ = nullptr;  // belongs to the handler that exit() runs, which may outlive the session
  int uncaught_exceptions_at_start_;
};

}  // namespace paragrad::comm
