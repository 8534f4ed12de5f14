#pragma once

#include <memory>

namespace paragrad::comm {

/// A process between the launcher and a rank: it started as the rank, waits for the one that does the work, and ends as that
/// one ended. For launchers that end all ranks when one is killed (Hydra does, also with -disable-auto-cleanup): where the
/// others are able to go on without this rank, its guard outlives it and takes leave of the launcher in its place.
///
/// Speaks the launcher's protocol (PMI-1) where that is announced in the environment; elsewhere a death is the launcher's
/// business as ever.
class RankGuard {
 public:
  /// Splits the calling process, before it starts threads or MPI: returns in the one that works. Of the other only the
  /// waiting is left; it has the process id that the launcher knows. If it is killed, the one that works is too.
  static std::unique_ptr<RankGuard> split();

  /// Whether the others go on when this rank is killed from now on. At first they do not.
  void set_expendable(bool expendable);

  ~RankGuard();
  RankGuard(const RankGuard&) = delete;
  RankGuard& operator=(const RankGuard&) = delete;

 private:
  struct Shared;
  explicit RankGuard(Shared* shared) : shared_(shared) {}
  [[noreturn]] static void wait_for(int process, Shared& shared);

  Shared* shared_;
};

/// Tells the launcher that this rank ends as it should though it has not ended MPI. Does nothing where that is not possible
/// or not necessary.
void take_leave_of_launcher();

}  // namespace paragrad::comm
