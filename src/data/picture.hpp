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
/// black; values are not converted to other colours, whatever profile or gamma the file has. JPEG: by the accurate inverse
/// transform, so that a file gives the same pixels wherever libjpeg-turbo decodes it; CMYK is refused. Blemishes next to the
/// pixels or after the last of them, of which the libraries warn, are ignored. path: of the file, for messages. Memory grows
/// with the rows that the file contains. Throws ConfigError for other formats, damaged or incomplete files, JPEG files of
/// more than 100 scans, and images that do not fit into memory.
Picture decode_picture(std::span<const std::byte> file, const std::string& path);

/// Throws ConfigError if a file says that it has an image of this shape, in rows of this many bytes when decompressed, and
/// is too short for it, or if the pixels do not fit into memory.
void check_picture(const ImageShape& shape, std::size_t packed_row_bytes, std::size_t file_bytes, const std::string& path);

// The two formats; begins_… says whether the file is one. One file each.
bool begins_png(std::span<const std::byte> file);
Picture decode_png(std::span<const std::byte> file, const std::string& path);
bool begins_jpeg(std::span<const std::byte> file);
Picture decode_jpeg(std::span<const std::byte> file, const std::string& path);

}  // namespace paragrad::data
