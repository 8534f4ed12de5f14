#pragma once

#include <functional>

namespace paragrad::python {

/// Runs a command while Python's signal handlers do their work.
///
/// The command runs on a thread of its own; the caller's, which is Python's main thread as a rule, lets Python handle
/// signals. If a handler raises (KeyboardInterrupt), trainings end after their current block, Python code of a strategy that
/// goes on for longer than a second gets a KeyboardInterrupt, and what the handler raised is thrown when the command has
/// ended: no signal is lost, whatever the command does meanwhile.
///
/// On another thread than the main one, and under mpiexec, where MPI forks the process and the command needs the caller's
/// thread, only Ctrl-C is noticed meanwhile, unless Python has another handler for it.
///
/// Call it with the interpreter's lock; `command` runs without. Throws what the command throws; nanobind::python_error.
void execute(const std::function<void()>& command);

}  // namespace paragrad::python
