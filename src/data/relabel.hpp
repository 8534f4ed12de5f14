#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::data {

/// The labels of each Subset, [samples].
using Labels = std::array<std::vector<std::int32_t>, 3>;

/// Writes a copy of a data set with other labels and without its partitions. `note`, if any, is appended to its source.
/// Throws ConfigError as DatasetWriter does; std::logic_error if the number of labels differs.
DatasetInfo relabel(const Dataset& dataset, const Labels& labels, const std::string& out, const std::string& note = {});

}  // namespace paragrad::data
