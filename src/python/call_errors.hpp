#pragma once

#include <string>

#include "python/nanobind.hpp"

namespace paragrad::python {

// Of errors that Python code of the user's has raised. They need the interpreter's lock.

/// Prints where the error was raised on Python's stderr. Returns "ZeroDivisionError: division by zero (strategy.py, line
/// 7)".
std::string report(const nanobind::python_error& error);

/// Whether it is a paragrad.Error, whose message is a sentence of our own.
bool is_sentence(const nanobind::python_error& error);
std::string message_of(const nanobind::python_error& error);

}  // namespace paragrad::python
