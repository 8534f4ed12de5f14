#pragma once

#include <string>

namespace paragrad::worlds {

/// Thrown where a training in this process is to end early.
struct Interrupted {};

/// Lets every training in this process end after the current block. May be called by the handler of a signal.
void interrupt() noexcept;

/// Takes it back.
void forget_interruption() noexcept;

/// Throws Interrupted.
void check_interruption();

/// What SIGINT and SIGTERM print before they end the program: one sentence about what is saved and how to continue. Empty:
/// nothing. Not for several threads at a time.
void set_interruption_notice(const std::string& sentence);

/// From now on these signals print the notice. They end the process as without it, at once: what is saved survives that. A
/// signal that is ignored stays ignored. For programs; in Python, Ctrl-C is KeyboardInterrupt. Does nothing if a LoneNotice
/// of the process that started this one leaves the word to that.
void print_notice_on_signals();

/// In its lifetime, programs started by this process print no notice: this process tells what is saved.
class LoneNotice {
 public:
  LoneNotice();
  ~LoneNotice();
  LoneNotice(const LoneNotice&) = delete;
};

}  // namespace paragrad::worlds
