#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/image_shape.hpp"

namespace paragrad::data {

/// A decoded image.
struct Picture {
  ImageShape shape;                  ///< one channel (grey) or three (red, green, blue)
  std::vector<std::uint8_t> pixels;  ///< [height][width][channels]
};

/// Decodes a PNG or JPEG file that lies in memory; the content, not the name, says which it is. Grey images have one
/// channel, all others three. PNG: pixels of 16 bits are rounded to 8, palettes are looked up, what is transparent lies on
/// black. JPEG: by the accurate inverse transform, so that a file gives the same pixels wherever libjpeg-turbo decodes it;
/// CMYK is refused. path: of the file, for messages. Throws ConfigError for other formats, damaged or incomplete files, and
/// images that do not fit into memory.
Picture decode_picture(std::span<const std::byte> file, const std::string& path);

/// An array for the pixels of a file that says it has this shape. Throws ConfigError if the file is too short for so many,
/// or if they do not fit into memory.
Picture blank_picture(const ImageShape& shape, std::size_t file_bytes, const std::string& path);

// The two formats; begins_… says whether the file is one. One file each.
bool begins_png(std::span<const std::byte> file);
Picture decode_png(std::span<const std::byte> file, const std::string& path);
bool begins_jpeg(std::span<const std::byte> file);
Picture decode_jpeg(std::span<const std::byte> file, const std::string& path);

}  // namespace paragrad::data
