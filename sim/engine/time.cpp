#include "sim/engine/time.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::sim {

void refuse_end_of_clock() {
  throw core::ConfigError(core::format(
      "this takes more than {:.0f} days of simulated time, after which the simulator's clock ends: simulate fewer "
      "epochs, fewer samples or only some blocks (`max-blocks`), or a faster platform",
      std::floor(to_seconds(never) / 86400)));
}

void refuse_bandwidth(double bytes_per_second) {
  throw core::ConfigError(core::format(
      "the platform's links, shared and tapered, come down to {:.3g} bytes per second, which is too slow for the "
      "simulator's clock: give them a higher bandwidth or a lower taper",
      bytes_per_second));
}

}  // namespace paragrad::sim
