#pragma once

#include <cstdint>
#include <string_view>

namespace paragrad::data {

// Constants of the file format that more than one source file needs; data/README.md describes the format.
inline constexpr std::string_view format_name = "paragrad-data";
inline constexpr std::uint64_t version_with_labels = 1, version_with_targets = 2;

}  // namespace paragrad::data
