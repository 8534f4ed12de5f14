#pragma once

#include <cstdint>
#include <string_view>

#include "data/dataset.hpp"

namespace paragrad::data {

// Constants of the file format that more than one source file needs; data/README.md describes the format.
inline constexpr std::string_view format_name = "paragrad-data";
inline constexpr std::uint64_t version_with_labels = 1, version_with_targets = 2, version_with_columns = 3,
                               version_with_tokens = 4;

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
