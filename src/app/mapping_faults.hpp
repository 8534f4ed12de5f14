#pragma once

#include <functional>

namespace paragrad::app {

/// From now on a mapped file that is cut short, or whose disk fails, ends the process with one sentence and user_error where
/// it would be a crash (SIGBUS). Other faults go where they went before.
///
/// A handler, not an exception: the read that fails is an instruction in the middle of a computation, on any thread or
/// fiber. Nothing is unwound; what the run has saved is complete, as after a kill.
void report_mapping_faults();

/// While it lives, such a fault prints and ends by `end(sentence)`, which must not return: in a rank of an MPI program, that
/// takes the others along. One at a time.
class MappingFaultEnd {
 public:
  explicit MappingFaultEnd(std::function<void(const char* sentence)> end);
  ~MappingFaultEnd();
  MappingFaultEnd(const MappingFaultEnd&) = delete;
  MappingFaultEnd& operator=(const MappingFaultEnd&) = delete;

 private:
  std::function<void(const char*)> end_;
};

}  // namespace paragrad::app
