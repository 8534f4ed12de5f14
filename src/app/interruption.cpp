#include "app/interruption.hpp"

#include <csignal>

namespace paragrad::app {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void interrupt() noexcept { interrupted = 1; }
void forget_interruption() noexcept { interrupted = 0; }

void check_interruption() {
  if (interrupted != 0) throw Interrupted();
}

}  // namespace paragrad::app
