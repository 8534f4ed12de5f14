#pragma once

#include <cstdio>
#include <string>

#include "core/format.hpp"

namespace paragrad::bench {

/// What a script of this folder prints, samples per second of another library on one core; 0 if no Python here can run it.
/// The first to be tried is that of `make peers`; the one in the PATH need not see the system's packages.
inline double peer_samples_per_s(const std::string& script, const std::string& arguments) {
  for (const char* python : {PARAGRAD_PEERS "/bin/python", "python3", "/usr/bin/python3"}) {
    const std::string command = core::format("OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 '{}' '{}/{}' {} 2>/dev/null", python,
                                             PARAGRAD_BENCH_SCRIPTS, script, arguments);
    FILE* output = popen(command.c_str(), "r");
    double samples_per_s = 0;
    if (output == nullptr || fscanf(output, "%lf", &samples_per_s) != 1) samples_per_s = 0;
    if (output != nullptr) pclose(output);
    if (samples_per_s > 0) return samples_per_s;
  }
  return 0;
}

/// "  PyTorch: 559 samples/s, 1.14 times as many here"
inline void print_peer(const std::string& library, double theirs, double ours) {
  if (theirs > 0)
    fmt::print("  {}: {:.1f} samples/s, {:.2f} times as many here\n", library, theirs, ours / theirs);
  else
    fmt::print("  {} has no figure: it is not installed (make peers), or failed here\n", library);
}

}  // namespace paragrad::bench
