#pragma once

namespace paragrad::app {

/// Thrown where a training in this process is to end early.
struct Interrupted {};

/// Lets every training in this process end after the current block. May be called by the handler of a signal.
void interrupt() noexcept;

/// Takes it back.
void forget_interruption() noexcept;

/// Throws Interrupted.
void check_interruption();

}  // namespace paragrad::app
