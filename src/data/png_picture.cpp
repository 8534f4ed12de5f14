#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <string_view>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/picture.hpp"

namespace paragrad::data {
namespace {

core::ConfigError damaged_png(const std::string& path, const char* why) {
  return core::ConfigError(core::format("'{}' is damaged or no PNG file: {}", path, why));
}

/// What libpng's callbacks reach.
struct PngSource {
  std::span<const std::byte> rest;
  std::array<char, 200> why{};  // it was refused
};

[[noreturn]] void end_reading(png_structp png, png_const_charp why) {
  auto& text = static_cast<PngSource*>(png_get_error_ptr(png))->why;
  std::strncpy(text.data(), why, text.size() - 1);
  png_longjmp(png, 1);
}

/// A warning about what stands next to the pixels, or after the last of them, is no damage.
void take_warning(png_structp png, png_const_charp what) {
  const std::string_view text(what);
  const bool after_last = text.ends_with("Extra compressed data") || text.ends_with("Too much image data");
  if (text.starts_with("IDAT") && !after_last) png_error(png, what);
}

void read_bytes(png_structp png, png_bytep into, std::size_t count) {
  auto& rest = static_cast<PngSource*>(png_get_io_ptr(png))->rest;
  if (count > rest.size()) png_error(png, "it is truncated");
  std::memcpy(into, rest.data(), count);
  rest = rest.subspan(count);
}

/// Decodes to 8 bits for each channel. No value passes through a curve, whatever colours the file says it has: a file of
/// measurements has none. libpng ends a failed call by longjmp, so functions with a setjmp own nothing.
class PngReader {
 public:
  PngReader(std::span<const std::byte> file, const std::string& path) : path_(path), source_{file} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source_, end_reading, take_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) png_destroy_read_struct(&png_, &info_, nullptr);
    if (info_ == nullptr) throw core::ConfigError("libpng cannot be initialised");
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Picture read() {
    const std::size_t file_bytes = source_.rest.size();
    if (!read_header()) throw damaged_png(path_, source_.why.data());
    const bool is_grey = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) == 0;
    Picture picture{{png_get_image_height(png_, info_), png_get_image_width(png_, info_), is_grey ? 1u : 3u}, {}};
    check_picture(picture.shape, png_get_rowbytes(png_, info_), file_bytes, path_);
    if (!set_up()) throw damaged_png(path_, source_.why.data());
    pixels_ = &picture.pixels;
    const std::size_t rows = picture.shape.height;
    if (passes_ > 1) picture.pixels.resize(rows * row_bytes_);
    for (int pass = 0; pass < passes_; ++pass)
      for (std::size_t row = 0; row < rows; ++row) {
        if (picture.pixels.size() < (row + 1) * row_bytes_) picture.pixels.resize((row + 1) * row_bytes_);
        if (!read_row(row)) throw damaged_png(path_, source_.why.data());
      }
    lay_on_black(picture);
    return picture;
  }

 private:
  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, &source_, read_bytes);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // read only what decides the pixels
    png_set_crc_action(png_, PNG_CRC_DEFAULT, PNG_CRC_ERROR_QUIT);
    png_set_benign_errors(png_, 1);
    png_read_info(png_, info_);
    return true;
  }

  bool set_up() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);  // palettes, 1 to 4 bits, a transparent colour
    png_set_scale_16(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    row_bytes_ = png_get_rowbytes(png_, info_);
    return true;
  }

  bool read_row(std::size_t row) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_row(png_, pixels_->data() + row * row_bytes_, nullptr);
    return true;
  }

  /// Multiplies with the transparency, if the image has any, and drops it.
  void lay_on_black(Picture& picture) const {
    const std::size_t channels = picture.shape.channels, stored = png_get_channels(png_, info_);
    if (stored == channels) return;
    const std::size_t count = picture.shape.height * picture.shape.width;
    std::uint8_t* const pixels = picture.pixels.data();
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t c = 0, alpha = pixels[i * stored + channels]; c < channels; ++c)
        pixels[i * channels + c] = static_cast<std::uint8_t>((pixels[i * stored + c] * alpha + 127) / 255);
    picture.pixels.resize(count * channels);
  }

  const std::string& path_;
  PngSource source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  std::size_t row_bytes_ = 0;
  std::vector<std::uint8_t>* pixels_ = nullptr;
};

}  // namespace

bool begins_png(std::span<const std::byte> file) {
  constexpr std::array<unsigned char, 8> signature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  return file.size() >= signature.size() &&
         std::ranges::equal(file.first(signature.size()), std::as_bytes(std::span(signature)));
}

Picture decode_png(std::span<const std::byte> file, const std::string& path) { return PngReader(file, path).read(); }

}  // namespace paragrad::data
