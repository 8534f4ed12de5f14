#pragma once

#include <memory>
#include <string>

namespace paragrad::comm {

/// What the guard of a rank is told when it begins.
struct GuardOptions {
  int end_code = 1;          ///< of a run that the death of a rank ends, where the launcher passes codes on
  std::string advice;        ///< then follows on the line that names the rank; may be empty
  double stop_limit_s = 60;  ///< of a rank without which the others go on: stopped (SIGSTOP) for longer, it is killed
};

/// A process between the launcher and a rank: it started as the rank, waits for the one that does the work, and ends as that
/// one ended. It tells what the rank itself cannot: that a signal has killed it, in one line on stderr.
///
/// Where the others cannot go on without the rank, its guard then ends them all. Where they can, the guard returns 0 in the
/// rank's place: whether the run succeeds is up to the others. (A launcher that learns of the signal ends all ranks; Hydra
/// does so with -disable-auto-cleanup, too.) Such a rank that is stopped for too long is killed: nobody waits for it again,
/// and the launcher would wait for ever.
///
/// Uses the launcher's protocol (PMI-1) where that is announced in the environment; elsewhere the launcher sees the death as
/// it would without a guard.
class RankGuard {
 public:
  /// Splits the calling process, before it starts threads, MPI or a GPU: returns in the one that works. Of the other only
  /// the waiting is left; it has the process id that the launcher knows. If it is killed, the one that works is too.
  static std::unique_ptr<RankGuard> split(const GuardOptions& options);

  /// Whether the launcher can be told of a death.
  static bool launcher_listens();

  /// Whether a debugger traces this process: after a split it would have the guard.
  static bool is_traced();

  /// What the death of this rank means from now on. At first it ends the run.
  enum class Death {
    ends_run,
    is_survived,  ///< by the others, who do without it
    is_late       ///< all ranks have done their work, and only the end of MPI in common is missing: the run has succeeded
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

/// Tells the launcher that this rank ends as it should though it has not ended MPI. Does nothing where that is not possible
/// or not necessary.
void take_leave_of_launcher();

}  // namespace paragrad::comm
