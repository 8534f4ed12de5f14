#pragma once

#include <functional>

namespace paragrad::system {

/// From now on, a mapped file that is truncated, or whose disk fails, ends the process with a one-sentence message and
/// this exit code instead of a crash (SIGBUS). Other faults are handled as before.
///
/// This is a signal handler, not an exception: the failing read is an instruction in the middle of a computation, on any
/// thread or fiber. Nothing is unwound; what the run has saved is complete, as after a kill.
void report_mapping_faults(int exit_code);

/// While this object exists, such a fault ends by calling `end(sentence)`, which prints and must not return: in an MPI
/// program it also ends the other ranks. Only one may exist at a time.
class MappingFaultEnd {
 public:
  explicit MappingFaultEnd(std::function<void(const char* sentence)> end);
  ~MappingFaultEnd();
  MappingFaultEnd(const MappingFaultEnd&) = delete;
  MappingFaultEnd& operator=(const MappingFaultEnd&) = delete;

 private:
  std::function<void(const char*)> end_;
};

}  // namespace paragrad::system
