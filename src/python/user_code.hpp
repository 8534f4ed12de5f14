#pragma once

#include <algorithm>
#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "python/nanobind.hpp"
#include "worlds/interruption.hpp"

namespace paragrad::python {

/// In its lifetime this thread runs Python code of the user's. Needs the interpreter's lock.
class UserCode {
 public:
  UserCode();
  ~UserCode();
  UserCode(const UserCode&) = delete;

  /// Whether the caller is such code.
  static bool is_current();

  /// Raises KeyboardInterrupt in all such code. Needs the interpreter's lock.
  static void interrupt_all();

 private:
  unsigned long thread_;
  bool is_first_;  // on this thread
};

/// Prints where the error was raised on Python's stderr. Returns "ZeroDivisionError: division by zero (strategy.py, line
/// 7)". Needs the interpreter's lock, as do the others.
std::string report(const nanobind::python_error& error);

/// Whether it is a paragrad.Error, whose message is a sentence of our own.
bool is_sentence(const nanobind::python_error& error);
std::string message_of(const nanobind::python_error& error);

/// Runs `action`, which calls function `of`.`function`, with the interpreter's lock. Throws Interrupted for
/// KeyboardInterrupt, and ConfigError with what else Python raised.
template <class Action>
void call_user(const std::string& of, const char* function, Action action) {
  const nanobind::gil_scoped_acquire lock;
  try {
    const UserCode runs;
    action();
  } catch (const nanobind::python_error& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) throw worlds::Interrupted();
    throw core::ConfigError(is_sentence(error) ? message_of(error) : core::format("{}.{}: {}", of, function, report(error)));
  }
}

/// An array of Python's with a copy of the values.
template <class T>
nanobind::object copied_array(const T* values, std::size_t size) {
  auto* const copy = new T[size];
  std::copy_n(values, size, copy);
  const nanobind::capsule owner(copy, [](void* it) noexcept { delete[] static_cast<T*>(it); });
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(copy, {size}, owner));
}

}  // namespace paragrad::python
