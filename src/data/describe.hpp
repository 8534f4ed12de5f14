#pragma once

#include "core/json_fwd.hpp"
#include "data/dataset.hpp"

namespace paragrad::data {

/// What `data info` prints: the description, the counts and the stored partitions.
core::Json describe(const Dataset& dataset);

}  // namespace paragrad::data
