#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "strategies/strategy.hpp"

namespace paragrad::strategies {

/// Remarks on elements that exceeded the range of a compression, those of this worker being `mine`. All workers call it.
/// option: which chooses the compression of `elements`.
Remarks remarks_on_saturation(comm::Worker& worker, std::optional<std::uint64_t> mine, std::string_view elements,
                              std::string_view option);

}  // namespace paragrad::strategies
