// Preloaded replacements of the C library's functions that tell the time of day: they show what the fault plan wants.
#include <sys/time.h>

#include <atomic>
#include <ctime>

#include "fault_plan.hpp"
#include "next_function.hpp"

namespace {

std::timespec shown(const std::timespec& now) {
  if (!paragrad::faults::watching()) return now;
  const auto error = paragrad::faults::clock_error();
  if (error.empty()) return now;
  if (error == "zero") return {};
  static std::atomic<long> readings = 0;
  constexpr std::time_t back_s = 5 * 3600;
  return error == "back" || readings.fetch_add(1) % 2 == 0 ? std::timespec{now.tv_sec - back_s, now.tv_nsec} : now;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, std::timespec* now) noexcept {
  static const auto real = paragrad::faults::next_function<decltype(::clock_gettime)>("clock_gettime");
  const int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) *now = shown(*now);
  return result;
}

int gettimeofday(timeval* now, void*) noexcept {
  std::timespec read{};
  const int result = ::clock_gettime(CLOCK_REALTIME, &read);
  *now = {read.tv_sec, read.tv_nsec / 1000};
  return result;
}

std::time_t time(std::time_t* now) noexcept {
  std::timespec read{};
  ::clock_gettime(CLOCK_REALTIME, &read);
  if (now != nullptr) *now = read.tv_sec;
  return read.tv_sec;
}

}  // extern "C"
