#pragma once

#include <cstdint>
#include <string_view>

namespace paragrad::data {

// Names of the format that more than one file needs; data/README.md describes it.
inline constexpr std::string_view format_name = "paragrad-data";
inline constexpr std::uint64_t format_version = 1;

}  // namespace paragrad::data
