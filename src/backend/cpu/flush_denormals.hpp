#pragma once

#ifdef __SSE__
#include <immintrin.h>
#endif

namespace paragrad::backend::cpu {

/// While in scope, this thread reads and writes denormal numbers (below 1.2e-38) as zero. The momentum of a weight that no
/// longer gets a gradient, as of a dead unit, falls into that range after some hundred minibatches and stays there;
/// arithmetic on it is about a hundred times slower (784-512-256-10 with ReLU: an epoch took 1.5 times as long from the
/// second on).
///
/// Used around every kernel, so that a kernel's bits do not depend on the thread that runs it. No effect on CPUs other than
/// x86.
class FlushDenormals {
 public:
#ifdef __SSE__
  FlushDenormals() : before_(_mm_getcsr()) {
    if (before_ != (before_ | flush_and_zero)) _mm_setcsr(before_ | flush_and_zero);
  }
  ~FlushDenormals() {
    if (before_ != (before_ | flush_and_zero)) _mm_setcsr(before_);
  }
#else
  FlushDenormals() = default;
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#ifdef __SSE__
  static constexpr unsigned flush_and_zero = 0x8040;  // results to zero, operands as zero
  unsigned before_;
#endif
};

}  // namespace paragrad::backend::cpu
