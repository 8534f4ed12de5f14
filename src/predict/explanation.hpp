#pragma once

#include <string>
#include <vector>

#include "predict/measured_rows.hpp"
#include "sim/platform.hpp"

namespace paragrad::predict {

/// One sentence on why measurements are slower than they should be: another transport, fewer adapters, latency or bandwidth
/// alone, one slow node, or nothing. healthy: measurements of the same where nothing was wrong, if there are any; otherwise
/// rows are compared with each other if any names its hosts, or else with the platform. Throws ConfigError if there is
/// nothing to compare, or if a row has not as many hosts as nodes.
std::string explain(const std::vector<MeasuredRow>& rows, const std::vector<MeasuredRow>& healthy,
                    const sim::Platform& platform);

}  // namespace paragrad::predict
