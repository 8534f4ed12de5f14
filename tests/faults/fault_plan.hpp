#pragma once

#include <cstddef>
#include <string>

/// Faults of a file system at chosen moments: the k-th call on the files below a folder fails, falls short or is the
/// process's last. Calls are counted in the order in which the process makes them, so that a fault has a number and
/// comes again. The environment variable PARAGRAD_FAULT holds the plan, in words with blanks between them:
///
///   folder=PATH   absolute, without links: calls on files below it, and on it, are counted
///   log=FILE      gets a line per call: number, name, "w" if it writes, bytes, path
///   at=K          the call that is hit (none: calls are only counted)
///   do=WHAT       fail: with `errno`, once
///                 fail_on: it and all later calls that can fail so
///                 short: half of the bytes are transferred
///                 kill: the process is killed instead of the call
///                 kill_after: … when it is done
///                 tear: … when half of the bytes are transferred
///   errno=NAME    EIO, ENOSPC, EDQUOT, EROFS, EINTR, EMFILE, ENODEV
///   then=WHEN:CALL:PART   after the fault, the process is killed `before` or `after` the next CALL whose path holds PART
///   rank=R        only in this rank under mpiexec
namespace paragrad::faults {

struct FileCall {
  const char* name;
  std::string path;
  bool writes;        ///< a full disk can refuse it
  std::size_t bytes;  ///< that it transfers
};

/// What becomes of a call.
enum class Fate { succeed, fail, fall_short, die_after, die_halfway };

/// True if the files are watched in this process at all; false also within meet().
bool watching();

/// The path, absolute; relative to the folder that is open as `folder_descriptor`.
std::string absolute_path(const char* path, int folder_descriptor);

std::string path_of(int descriptor);

/// Counts the call if its path lies in the folder, and decides. Does not return if the process dies before it; sets errno
/// if the call fails.
Fate meet(const FileCall& call);

[[noreturn]] void die();

}  // namespace paragrad::faults
