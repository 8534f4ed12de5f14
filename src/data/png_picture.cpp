#include <png.h>

#include <algorithm>
#include <array>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/picture.hpp"

namespace paragrad::data {
namespace {

core::ConfigError damaged_png(const std::string& path, const std::string& why) {
  return core::ConfigError(core::format("'{}' is damaged or no PNG file: {}", path, why));
}

/// libpng's image, whose memory is freed however decoding ends.
struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(this); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

}  // namespace

bool begins_png(std::span<const std::byte> file) {
  constexpr std::array<unsigned char, 8> signature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  return file.size() >= signature.size() &&
         std::ranges::equal(file.first(signature.size()), std::as_bytes(std::span(signature)));
}

Picture decode_png(std::span<const std::byte> file, const std::string& path) {
  PngImage image;
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) throw damaged_png(path, image.message);
  const bool is_grey = (image.format & PNG_FORMAT_FLAG_COLOR) == 0;
  image.format = is_grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Picture picture = blank_picture({image.height, image.width, is_grey ? 1u : 3u}, file.size(), path);
  const png_color black{0, 0, 0};
  if (png_image_finish_read(&image, &black, picture.pixels.data(), 0, nullptr) == 0) throw damaged_png(path, image.message);
  if (image.warning_or_error != 0) throw damaged_png(path, image.message);
  return picture;
}

}  // namespace paragrad::data
