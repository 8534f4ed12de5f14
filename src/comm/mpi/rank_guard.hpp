#pragma once

#include <memory>
#include <string>

namespace paragrad::comm {

/// Settings of a rank's guard.
struct GuardOptions {
  int end_code = 1;          ///< exit code of a run that a rank's death ends, if the launcher passes codes on
  std::string advice;        ///< appended to the line that names the dead rank; may be empty
  double stop_limit_s = 60;  ///< a dispensable rank that is stopped (SIGSTOP) for longer is killed
};

/// A process between the launcher and a rank: the process that the launcher started waits for a child that does the work,
/// and ends as the child ended. It reports what the rank itself cannot, in one line on stderr: that a signal killed it.
///
/// If the other ranks cannot continue without the rank, its guard then ends them all. If they can, the guard returns 0 in
/// the rank's place, and the others decide whether the run succeeds. (A launcher that sees the signal ends all ranks; Hydra
/// does so even with -disable-auto-cleanup.) A dispensable rank that is stopped for too long is killed: the others no longer
/// wait for it, but the launcher would wait forever.
///
/// Uses the launcher's protocol (PMI-1) if it is announced in the environment; otherwise the launcher sees the death as it
/// would without a guard.
class RankGuard {
 public:
  /// Forks the calling process; call it before threads, MPI or a GPU are started. Returns in the child, which does the work.
  /// The parent, whose process id the launcher knows, only waits. If the parent is killed, so is the child.
  static std::unique_ptr<RankGuard> split(const GuardOptions& options);

  /// Whether the launcher can be notified of a death.
  static bool launcher_listens();

  /// Whether a debugger traces this process: after a split it would be attached to the guard.
  static bool is_traced();

  /// What the death of this rank means from now on. Initially it ends the run.
  enum class Death {
    ends_run,
    is_survived,  ///< the others continue without it
    is_late       ///< all ranks have done their work and only MPI_Finalize is missing: the run has succeeded
  };
  void set_death(Death death);

  ~RankGuard();
  RankGuard(const RankGuard&) = delete;
  RankGuard& operator=(const RankGuard&) = delete;

 private:
  struct Shared;
  class Watch;
  explicit RankGuard(Shared* shared) : shared_(shared) {}

  Shared* shared_;
};

/// Tells the launcher that this rank ends normally although it has not finalised MPI. Does nothing if that is impossible or
/// unnecessary.
void take_leave_of_launcher();

/// For a rank that fails before MPI begins, whose peers would wait for it in MPI_Init forever: has Hydra end them, and this
/// process. Returns where there are no peers; other launchers notice the exit code.
void end_waiting_peers(int code);

}  // namespace paragrad::comm
