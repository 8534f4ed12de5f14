#pragma once

#include <cstdint>

namespace paragrad::hosting {

/// Which workers each process hosts: consecutive ones, in numbers that differ by one at most.
struct Placement {
  int workers = 1;
  int processes = 1;

  int first(int process) const { return static_cast<int>(std::int64_t{process} * workers / processes); }
  int count(int process) const { return first(process + 1) - first(process); }
  int process_of(int worker) const { return static_cast<int>((std::int64_t{worker} * processes + processes - 1) / workers); }
};

}  // namespace paragrad::hosting
