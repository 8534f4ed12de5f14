#pragma once

#include <sys/types.h>

#include <string>

/// Records what a process changes, so that power_cut.py can tell what is left when the machine loses power at any point.
/// Each entry is a line with the call, its path, a number and a number of bytes, separated by tabs, and then these bytes.
namespace paragrad::faults {

struct Change {
  const char* call;
  std::string path;
  off_t number = 0;       ///< where it writes; the new size (ftruncate); 1 if it empties the file (open)
  std::string content{};  ///< what it writes; the old path (rename)
};

/// While it exists, no other thread and no other process with this journal changes anything: entries are in the order of the
/// changes.
class JournalTurn {
 public:
  JournalTurn();
  ~JournalTurn();
  JournalTurn(const JournalTurn&) = delete;
  JournalTurn& operator=(const JournalTurn&) = delete;

  void enter(const Change& change);
};

}  // namespace paragrad::faults
