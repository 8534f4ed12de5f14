#pragma once

#include <cstddef>
#include <string>

/// Injects file-system faults at chosen calls: the k-th call on the files below a folder fails, transfers only half, or is
/// the last of the process. Calls are counted in the order in which the process makes them, so a fault has a number and is
/// reproducible. The environment variable PARAGRAD_FAULT holds the plan, as words separated by blanks:
///
///   folder=PATH   absolute, without links: calls on files below it, and on it, are counted
///   log=FILE      gets a line per call: number, name, "w" if it writes, bytes, path
///   journal=FILE  gets every change of files and names, see journal.hpp
///   at=K          the call to hit (none: calls are only counted)
///   do=WHAT       fail: with `errno`, once
///                 fail_on: this and all later calls that can fail in this way
///                 short: half of the bytes are transferred
///                 kill: the process is killed instead of the call
///                 kill_after: the process is killed after the call
///                 tear: the process is killed after half of the bytes are transferred
///   errno=NAME    EIO, ENOSPC, EDQUOT, EROFS, EINTR, EMFILE, ENODEV
///   clock=HOW     the time of day is wrong from the call on; the monotonic clock is left alone
///                 back: five hours early
///                 leap: five hours early at every other reading
///                 zero: it stands still at 1 January 1970, like a clock without a battery
///   then=WHEN:CALL:PART   after the fault, the process is killed `before` or `after` the next CALL with PART in its path
///   rank=R        only in this rank under mpiexec
namespace paragrad::faults {

struct FileCall {
  const char* name;
  std::string path;
  bool writes;        ///< can fail on a full disk
  std::size_t bytes;  ///< transferred by the call
};

/// Whether the path is the folder or lies in it.
bool watches(const std::string& path);

/// The descriptor of the journal, or -1.
int journal();

/// What is wrong with the time of day at present; "" if nothing is.
std::string clock_error();

/// The fate of a call.
enum class Fate { succeed, fail, fall_short, die_after, die_halfway };

/// Whether files are watched in this process; false also within meet().
bool watching();

/// The absolute path of `path`, which is relative to the folder open as `folder_descriptor`.
std::string absolute_path(const char* path, int folder_descriptor);

std::string path_of(int descriptor);

/// Counts the call if its path lies in the folder, and decides. Does not return if the process dies before it; sets errno
/// if the call fails.
Fate meet(const FileCall& call);

[[noreturn]] void die();

}  // namespace paragrad::faults
