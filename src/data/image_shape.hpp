#pragma once

#include <cstddef>
#include <string>

#include "core/format.hpp"

namespace paragrad::data {

/// Of samples that are images: [height][width][channels] as stored.
struct ImageShape {
  std::size_t height = 0, width = 0, channels = 0;

  bool operator==(const ImageShape&) const = default;
  std::string text() const { return core::format("{}x{}x{}", height, width, channels); }
};

}  // namespace paragrad::data
