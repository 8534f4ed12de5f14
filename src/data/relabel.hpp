#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::data {

/// The labels of each Subset, [samples].
using Labels = std::array<std::vector<std::int32_t>, 3>;

/// Writes a data set again with other labels; partitions are not taken along. `note`, if any, is added to its source.
/// Throws ConfigError as DatasetWriter does; std::logic_error for labels of another number.
DatasetInfo relabel(const Dataset& dataset, const Labels& labels, const std::string& out, const std::string& note = {});

}  // namespace paragrad::data
