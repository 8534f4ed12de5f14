#include "metrics/progress.hpp"

#include <unistd.h>

#include <cstdio>

#include "core/format.hpp"
#include "core/units.hpp"

namespace paragrad::metrics {

Progress::Progress(std::uint64_t total_samples, bool quiet)
    : total_(total_samples), quiet_(quiet), terminal_(isatty(STDOUT_FILENO) != 0) {}

Progress::~Progress() { clear_line(); }

void Progress::clear_line() {
  if (shown_) fmt::print("\r\033[K");
  shown_ = false;
  std::fflush(stdout);
}

void Progress::advance(std::uint64_t samples, const std::string& position) {
  done_ += samples;
  const auto now = Clock::now();
  if (quiet_ || !terminal_ || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done_) / elapsed_s;
  const double left_s = static_cast<double>(total_ - done_) / rate;
  fmt::print("\r\033[K{}  {:.0f} samples/s  {} left", position, rate, core::format_quantity(left_s, core::Unit::time));
  shown_ = true;
  std::fflush(stdout);
}

void Progress::say(const std::string& line) {
  if (quiet_) return;
  clear_line();
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace paragrad::metrics
