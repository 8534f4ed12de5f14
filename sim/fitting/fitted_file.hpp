#pragma once

#include <string>
#include <string_view>

#include "sim/fitting/fit.hpp"

namespace paragrad::sim::fitting {

/// A platform file with the fitted values, their spreads, the rates [[rate]] and the section [fit]; its comments stay.
/// base: the text of the file that was fitted, with sections and keys on lines of their own: read the result to make sure.
/// rates: those of other models that the file had, too. remark: a line for its beginning.
std::string fitted_file(std::string_view base, const Fit& fit, const std::vector<Platform::Rate>& rates,
                        std::int64_t measurements, const std::string& remark);

}  // namespace paragrad::sim::fitting
