#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace paragrad::data {

// Names of the format that more than one file needs; data/README.md describes it.
inline constexpr std::string_view format_name = "paragrad-data";
inline constexpr std::uint64_t format_version = 1;
inline constexpr std::size_t widest_context = 1000;  // frames to either side: more is a mistake

}  // namespace paragrad::data
