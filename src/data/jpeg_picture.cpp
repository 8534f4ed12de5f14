#include <array>
#include <csetjmp>
#include <cstdio>

// After <cstdio>, which it needs.
#include <jpeglib.h>

// After <jpeglib.h>, which decides the numbers of its messages.
#include <jerror.h>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/picture.hpp"

namespace paragrad::data {
namespace {

constexpr int most_scans = 100;  // each costs a pass over the image, and encoders write about ten

core::ConfigError damaged_jpeg(const std::string& path, const char* why) {
  return core::ConfigError(core::format("'{}' is damaged or no JPEG file: {}", path, why));
}

/// The library's handling of errors, with what is needed to end by longjmp.
struct JpegErrors : jpeg_error_mgr {
  std::jmp_buf end;
  std::array<char, JMSG_LENGTH_MAX> why{};
};

[[noreturn]] void end_reading(j_common_ptr jpeg) {
  auto& errors = *static_cast<JpegErrors*>(jpeg->err);
  errors.format_message(jpeg, errors.why.data());
  std::longjmp(errors.end, 1);
}

/// Warnings that mean that blocks are missing or wrong: the library then fills them with grey. The others are about what
/// stands between the blocks' data or after the last block, such as stray bytes.
bool is_damage(int message) {
  constexpr std::array damages{JWRN_HIT_MARKER,  JWRN_HUFF_BAD_CODE, JWRN_ARITH_BAD_CODE,
                               JWRN_MUST_RESYNC, JWRN_JPEG_EOF,      JWRN_BOGUS_PROGRESSION};
  for (const int damage : damages)
    if (message == damage) return true;
  return false;
}

void take_message(j_common_ptr jpeg, int level) {
  if (level < 0 && is_damage(jpeg->err->msg_code)) end_reading(jpeg);
}

void count_scans(j_common_ptr jpeg) {
  auto& errors = *static_cast<JpegErrors*>(jpeg->err);
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= most_scans) return;
  std::snprintf(errors.why.data(), errors.why.size(), "it has more than %d scans", most_scans);
  std::longjmp(errors.end, 1);
}

/// libjpeg ends a failed call by longjmp, so functions with a setjmp own nothing.
class JpegReader {
 public:
  JpegReader(std::span<const std::byte> file, const std::string& path) : path_(path), file_(file) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = end_reading;
    errors_.emit_message = take_message;
    progress_.progress_monitor = count_scans;
    if (!create()) throw core::ConfigError("libjpeg cannot be initialised");
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Picture read() {
    if (!read_header()) throw damaged_jpeg(path_, errors_.why.data());
    if (jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK)
      throw core::ConfigError(core::format("'{}' is a JPEG file of four inks (CMYK): convert it to RGB", path_));
    const bool is_grey = jpeg_.jpeg_color_space == JCS_GRAYSCALE;
    Picture picture{{jpeg_.image_height, jpeg_.image_width, is_grey ? 1u : 3u}, {}};
    const std::size_t row_bytes = picture.shape.width * picture.shape.channels;
    check_picture(picture.shape, row_bytes, file_.size(), path_);
    jpeg_.out_color_space = is_grey ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_.dct_method = JDCT_ISLOW;
    if (!start()) throw damaged_jpeg(path_, errors_.why.data());
    for (std::size_t row = 0; row < picture.shape.height; ++row) {
      picture.pixels.resize((row + 1) * row_bytes);
      if (!read_row(picture.pixels.data() + row * row_bytes)) throw damaged_jpeg(path_, errors_.why.data());
    }
    if (!finish()) throw damaged_jpeg(path_, errors_.why.data());
    return picture;
  }

 private:
  bool create() {
    if (setjmp(errors_.end) != 0) return false;
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &progress_;
    return true;
  }
  bool read_header() {
    if (setjmp(errors_.end) != 0) return false;
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file_.data()), static_cast<unsigned long>(file_.size()));
    jpeg_read_header(&jpeg_, TRUE);
    return true;
  }
  bool start() {
    if (setjmp(errors_.end) != 0) return false;
    jpeg_start_decompress(&jpeg_);
    return true;
  }
  bool read_row(std::uint8_t* row) {
    if (setjmp(errors_.end) != 0) return false;
    jpeg_read_scanlines(&jpeg_, &row, 1);
    return true;
  }
  bool finish() {
    if (setjmp(errors_.end) != 0) return false;
    jpeg_finish_decompress(&jpeg_);
    return true;
  }

  const std::string& path_;
  std::span<const std::byte> file_;
  JpegErrors errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct jpeg_{};
};

}  // namespace

bool begins_jpeg(std::span<const std::byte> file) {
  return file.size() >= 3 && file[0] == std::byte{0xff} && file[1] == std::byte{0xd8} && file[2] == std::byte{0xff};
}

Picture decode_jpeg(std::span<const std::byte> file, const std::string& path) { return JpegReader(file, path).read(); }

}  // namespace paragrad::data
