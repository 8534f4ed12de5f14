#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace paragrad::metrics {

/// Shows the progress of a run. On a terminal, one line rewritten at most ten times a second: position, rate, time left.
/// Elsewhere, or if NO_COLOR or TERM=dumb is set, only the lines passed to say().
class Progress {
 public:
  /// total_samples: of the whole run. quiet: print nothing at all.
  Progress(std::uint64_t total_samples, bool quiet);
  ~Progress();

  void advance(std::uint64_t samples, const std::string& position);

  /// Prints a permanent line.
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  void clear_line();

  std::uint64_t total_;
  std::uint64_t done_ = 0;
  bool quiet_;
  bool rewrites_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
};

}  // namespace paragrad::metrics
