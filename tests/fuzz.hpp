#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/printable.hpp"
#include "sanitized.hpp"

/// AddressSanitizer's, where the program has it.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

/// Readers on damaged inputs. An input is a number, and stands for the same damage on every machine.
///
/// PARAGRAD_FUZZ=20000        that many inputs for each reader instead of 1000, and a line about each
/// PARAGRAD_FUZZ=1000:2000    the numbers from 1000 to 1999
/// PARAGRAD_FUZZ_INPUT=1234   only this one
namespace paragrad::test {

/// Numbers of inputs, from `first` up to but not including `end`.
struct FuzzInputs {
  std::size_t first = 0, end = 0;
  bool part = false;  ///< of a campaign, or a single one
};

/// share: one of so many inputs, for a reader that is slow.
inline FuzzInputs fuzz_inputs(std::size_t share = 1) {
  const auto number = [](const char* text) { return static_cast<std::size_t>(std::strtoull(text, nullptr, 10)); };
  if (const char* const one = std::getenv("PARAGRAD_FUZZ_INPUT")) return {number(one), number(one) + 1, true};
  const char* const wanted = std::getenv("PARAGRAD_FUZZ");
  if (wanted == nullptr) return {0, 1000 / share};
  if (const char* const colon = std::strchr(wanted, ':')) return {number(wanted) / share, number(colon + 1) / share, true};
  return {0, number(wanted) / share};
}

/// The command that repeats the input that is being read. It is printed if the process dies of it, by a report of a
/// sanitizer or a signal (which Catch2 handles), and if it takes too much of the processor's time.
class InputWatch {
 public:
  explicit InputWatch(std::string test) : test_(std::move(test)) {
    if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(print);
    struct sigaction late {};
    late.sa_handler = [](int) {
      write("no end in time:\n");
      print();
      ::_exit(1);
    };
    ::sigaction(SIGPROF, &late, &before_);
  }
  ~InputWatch() {
    limit_to(0);
    ::sigaction(SIGPROF, &before_, nullptr);
    repeat_[0] = '\0';
  }
  InputWatch(const InputWatch&) = delete;

  /// Of an input of so many bytes, for which there are 10 s and 2 s for each MB.
  void begin(std::size_t input, std::size_t bytes) {
    std::snprintf(repeat_.data(), repeat_.size(), "PARAGRAD_FUZZ_INPUT=%zu %s \"%s\"\n", input, program_invocation_name,
                  test_.c_str());
    limit_to(10 + static_cast<time_t>(2 * bytes >> 20));
  }

  static const char* repeat() { return repeat_.data(); }
  static void print() { write(repeat_.data()); }

 private:
  static void limit_to(time_t seconds) {
    const itimerval once{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
    ::setitimer(ITIMER_PROF, &once, nullptr);  // the processor's time: a process that is suspended does not hang
  }
  static void write(const char* text) { static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text))); }

  inline static std::array<char, 1000> repeat_{};  // static, because handlers of signals and reports have no argument for it
  std::string test_;
  struct sigaction before_ {};
};

/// As long as it exists, the process may take only `more` bytes of address space more than it has: a reader that
/// needs more believes what an input says about itself, or keeps what it need not. Without effect under sanitizers, which
/// have an address space of their own.
class MemoryBound {
 public:
  explicit MemoryBound(rlim_t more) {
    ::getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    if (sanitized || pages == 0) return;
    rlimit now = before_;
    now.rlim_cur = std::min(before_.rlim_cur, pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + more);
    ::setrlimit(RLIMIT_AS, &now);
  }
  ~MemoryBound() { ::setrlimit(RLIMIT_AS, &before_); }
  MemoryBound(const MemoryBound&) = delete;

 private:
  rlimit before_{};
};

/// Of an input, 0 where it is not made of bytes.
template <class Input>
std::size_t bytes_of_input(const Input& input) {
  if constexpr (requires { input.size(); }) return input.size();
  return 0;
}

/// How many times its size a reader may take that makes an object of a few bytes, as those of JSON and TOML do.
inline constexpr rlim_t as_objects = 128;

/// Reads each of the inputs. `read(damaged(input))` must return, or throw a ConfigError (or an error of the file system,
/// which the program shows as one) with a sentence, in time (InputWatch) and with 24 MB of memory for libraries and `times`
/// the size of the input. At least 1 % of the inputs must be read and 1 % refused: a test whose inputs are all refused at
/// the first byte covers nothing.
template <class Damaged, class Read>
void survive(const FuzzInputs& inputs, const Damaged& damaged, const Read& read, rlim_t times = 16) {
  const std::string test = Catch::getResultCapture().getCurrentTestName();
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t all = inputs.end - inputs.first;
  std::size_t accepted = 0, refused = 0;
  InputWatch watch(test);
  const auto refuse = [&](const std::string& message) {
    ++refused;
    if (core::printable_message(message).empty()) FAIL_CHECK(watch.repeat() << "refused without a word");
    if (message.find(" of memory, but only ") != std::string::npos)
      FAIL_CHECK(watch.repeat() << "memory for what it says of itself: " << message);
  };
  for (std::size_t input = inputs.first; input < inputs.end; ++input) {
    watch.begin(input, 0);
    INFO(watch.repeat());
    try {
      const auto given = damaged(input);
      watch.begin(input, bytes_of_input(given));
      const MemoryBound bound((rlim_t{24} << 20) + times * bytes_of_input(given));
      read(given);
      ++accepted;
    } catch (const core::ConfigError& error) {
      refuse(error.what());
      if (all == 1) std::fprintf(stderr, "refused: %s\n", core::printable_message(error.what()).c_str());
    } catch (const std::filesystem::filesystem_error& error) {
      refuse(error.what());
    } catch (const std::exception& error) {
      FAIL_CHECK("an internal error: " << error.what());
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (std::getenv("PARAGRAD_FUZZ") != nullptr) {
    std::printf("fuzz: %s: %zu inputs, %zu read, %zu refused, %.1f s\n", test.c_str(), all, accepted, refused, took.count());
    std::fflush(stdout);  // the process may die of the next test
  }
  if (inputs.part) return;
  CHECK(accepted * 100 >= all);
  CHECK(refused * 100 >= all);
}

}  // namespace paragrad::test

/// Called by UndefinedBehaviorSanitizer, which has no death callback.
extern "C" __attribute__((used)) inline void __ubsan_on_report() { paragrad::test::InputWatch::print(); }
