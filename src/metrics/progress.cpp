#include "metrics/progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/format.hpp"
#include "core/units.hpp"

namespace paragrad::metrics {
namespace {

/// Whether control characters may be written to stdout (https://no-color.org).
bool may_rewrite_lines() {
  const auto variable = [](const char* name) -> std::string_view {
    const char* text = std::getenv(name);
    return text == nullptr ? "" : text;
  };
  return isatty(STDOUT_FILENO) != 0 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

}  // namespace

Progress::Progress(std::uint64_t total_samples, bool quiet)
    : total_(total_samples), quiet_(quiet), rewrites_(may_rewrite_lines()) {}

Progress::~Progress() { clear_line(); }

void Progress::clear_line() {
  if (shown_) fmt::print("\r\033[K");
  shown_ = false;
  std::fflush(stdout);
}

void Progress::advance(std::uint64_t samples, const std::string& position) {
  done_ += samples;
  const auto now = Clock::now();
  if (quiet_ || !rewrites_ || now - last_ < std::chrono::milliseconds(100)) return;
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
