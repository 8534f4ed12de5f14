#include <turbojpeg.h>

#include <memory>
#include <type_traits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/picture.hpp"

namespace paragrad::data {
namespace {

struct EndDecompressor {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using Decompressor = std::unique_ptr<std::remove_pointer_t<tjhandle>, EndDecompressor>;

core::ConfigError damaged_jpeg(const std::string& path, tjhandle handle) {
  return core::ConfigError(core::format("'{}' is damaged or no JPEG file: {}", path, tjGetErrorStr2(handle)));
}

}  // namespace

bool begins_jpeg(std::span<const std::byte> file) {
  return file.size() >= 3 && file[0] == std::byte{0xff} && file[1] == std::byte{0xd8} && file[2] == std::byte{0xff};
}

Picture decode_jpeg(std::span<const std::byte> file, const std::string& path) {
  const Decompressor decompressor(tjInitDecompress());
  if (decompressor == nullptr) throw core::ConfigError("libjpeg-turbo cannot be initialised");
  tjhandle const handle = decompressor.get();
  const auto* const data = reinterpret_cast<const unsigned char*>(file.data());
  const auto size = static_cast<unsigned long>(file.size());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(handle, data, size, &width, &height, &subsampling, &colours) != 0)
    throw damaged_jpeg(path, handle);
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    throw core::ConfigError(core::format("'{}' is a JPEG file of four inks (CMYK): convert it to RGB", path));
  const bool is_grey = colours == TJCS_GRAY;
  const auto rows = static_cast<std::size_t>(height), columns = static_cast<std::size_t>(width);
  Picture picture = blank_picture({rows, columns, is_grey ? 1u : 3u}, file.size(), path);
  // A warning, too, tells of damage: libjpeg-turbo fills what is missing with grey.
  if (tjDecompress2(handle, data, size, picture.pixels.data(), width, 0, height, is_grey ? TJPF_GRAY : TJPF_RGB,
                    TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING) != 0)
    throw damaged_jpeg(path, handle);
  return picture;
}

}  // namespace paragrad::data
