#include "data/picture.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"

namespace paragrad::data {

Picture decode_picture(std::span<const std::byte> file, const std::string& path) {
  if (begins_png(file)) return decode_png(file, path);
  if (begins_jpeg(file)) return decode_jpeg(file, path);
  throw core::ConfigError(core::format("'{}' is neither a PNG nor a JPEG file", path));
}

// Deflate makes at most 1,032 bytes of one, and a block of a JPEG image, of up to 256 pixels, takes more than five bits.
void check_picture(const ImageShape& shape, std::size_t packed_row_bytes, std::size_t file_bytes, const std::string& path) {
  constexpr double most_of_a_byte = 1100, overhead = 1 << 20;
  const double rows = static_cast<double>(shape.height), pixels = rows * static_cast<double>(shape.width);
  if (pixels == 0) throw core::ConfigError(core::format("'{}' is an empty image of {}", path, shape.text()));
  if (rows * static_cast<double>(packed_row_bytes) > most_of_a_byte * static_cast<double>(file_bytes) + overhead)
    throw core::ConfigError(
        core::format("'{}' is damaged: an image of {} does not fit into {} bytes", path, shape.text(), file_bytes));
  core::require_memory(pixels * static_cast<double>(shape.channels),
                       core::format("the image '{}' of {}", path, shape.text()));
}

}  // namespace paragrad::data
