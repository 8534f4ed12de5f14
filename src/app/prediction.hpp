#pragma once

#include <span>
#include <string>

namespace paragrad::app {

/// Of finished runs: wherever a simulated one and a measured one (wall clock) are the same training, on whatever device and
/// platform, one line with the predicted times over the measured ones. Prints nothing where there are no such two.
void print_predictions(std::span<const std::string> folders);

}  // namespace paragrad::app
