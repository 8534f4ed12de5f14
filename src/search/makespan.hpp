#pragma once

#include <cstddef>
#include <span>

namespace paragrad::search {

/// How long tasks of these durations keep `groups` busy if each group takes the next one, in order, as soon as it is free.
double makespan(std::span<const double> durations, std::size_t groups);

}  // namespace paragrad::search
