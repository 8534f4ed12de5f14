#pragma once

#include <string>
#include <vector>

#include "predict/measured_rows.hpp"
#include "sim/platform.hpp"

namespace paragrad::predict {

/// One sentence on why measurements are slower than they should be: another transport, fewer adapters, latency or bandwidth
/// alone, one slow node, or nothing. healthy: measurements of the same where nothing was wrong, if there are any; otherwise
/// rows that name their hosts are compared with each other, and others with the platform. Throws ConfigError if there is
/// nothing to compare.
std::string explain(const std::vector<MeasuredRow>& rows, const std::vector<MeasuredRow>& healthy,
                    const sim::Platform& platform);

}  // namespace paragrad::predict
