// Runs one ring here and in SimGrid, prints both simulated times and the processor time per message, and fails if the
// simulated times differ by more than 0.5 %.
//
//   simgrid_ring WORKERS contiguous|strided|spine [jitter]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "case.hpp"

using paragrad::test::Case;
using paragrad::test::Outcome;

namespace {

constexpr double tolerance = 0.005;
constexpr double spine_bytes_per_s = 24e9;

void print(const char* name, const Outcome& outcome, const Case& ring) {
  std::printf("%-9s %.9f s simulated, %6.2f us per message\n", name, outcome.simulated_s,
              1e6 * outcome.host_s / static_cast<double>(ring.messages()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s WORKERS contiguous|strided|spine [jitter]\n", argv[0]);
    return 2;
  }
  Case ring;
  ring.workers = std::atoi(argv[1]);
  if (std::strcmp(argv[2], "contiguous") != 0) ring.stride = Case::devices_per_node;
  if (std::strcmp(argv[2], "spine") == 0) ring.spine_bytes_per_s = spine_bytes_per_s;
  ring.jitter = argc > 3;

  const Outcome ours = paragrad::test::in_paragrad(ring);
  const Outcome theirs = paragrad::test::in_simgrid(ring);
  print("paragrad", ours, ring);
  print("simgrid", theirs, ring);
  const double ratio = ours.simulated_s / theirs.simulated_s;
  std::printf("ratio     %.6f of simulated times, %.1f of processor times\n", ratio, ours.host_s / theirs.host_s);
  return std::abs(ratio - 1) <= tolerance ? 0 : 1;
}
