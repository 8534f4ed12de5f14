#pragma once

#include <cstdint>
#include <string_view>

#include "data/dataset.hpp"

namespace paragrad::data {

// Constants of the file format that more than one source file needs; data/README.md describes the format.
inline constexpr std::string_view format_name = "paragrad-data";
inline constexpr std::uint64_t version_with_labels = 1, version_with_targets = 2, version_with_columns = 3,
                               version_with_tokens = 4;

inline constexpr std::size_t most_tokens = 0xFFFFFFFF;  ///< of a set; rows are numbered by 32 bits

/// Calls with(T{}) with the type in which tokens are stored.
template <class With>
void with_token_type(core::NumberType type, const With& with) {
  if (type == core::NumberType::uint8) return with(std::uint8_t{});
  if (type == core::NumberType::uint16) return with(std::uint16_t{});
  with(std::int32_t{});
}

/// The first one whose readers understand the file.
inline std::uint64_t version_of(const DatasetInfo& info) {
  if (info.vocabulary) return version_with_tokens;
  std::uint64_t version = info.widths.targets > 0 ? version_with_targets : version_with_labels;
  const auto look = [&](const auto&, std::size_t width) {
    if (width > 0) version = version_with_columns;
  };
  for_extra_columns(look, info.widths);
  return version;
}

}  // namespace paragrad::data
