#include "data/idx_file.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "data/gzip_file.hpp"

namespace paragrad::data {
namespace {

constexpr std::uint8_t unsigned_bytes = 0x08;

core::ConfigError not_idx(const std::string& path, const std::string& why) {
  return core::ConfigError(core::format("'{}' is not an IDX file of unsigned bytes: {}", path, why));
}

std::vector<std::size_t> read_shape(GzipFile& source) {
  std::array<std::uint8_t, 4> word{};
  if (source.read(word) < 4 || word[0] != 0 || word[1] != 0)
    throw not_idx(source.path(), "it does not begin with two zero bytes");
  if (word[2] != unsigned_bytes)
    throw not_idx(source.path(), core::format("its element type is 0x{:02x}, not 0x08", word[2]));
  std::vector<std::size_t> shape(word[3]);
  if (shape.empty()) throw not_idx(source.path(), "it has no dimensions");
  for (auto& size : shape) {
    if (source.read(word) < 4) throw not_idx(source.path(), "it ends within its header");
    size = std::size_t{word[0]} << 24 | std::size_t{word[1]} << 16 | std::size_t{word[2]} << 8 | word[3];
  }
  return shape;
}

/// Memory grows with the data actually present, not with the sizes that a damaged header claims.
std::vector<std::uint8_t> read_elements(GzipFile& source, const std::vector<std::size_t>& shape) {
  unsigned __int128 wanted = 1;
  for (const auto size : shape) {
    wanted *= size;
    if (wanted >> 62 != 0) throw not_idx(source.path(), core::format("its shape {} is impossible", core::join(shape, "x")));
  }
  std::vector<std::uint8_t> bytes;
  constexpr std::size_t chunk = std::size_t{1} << 22;
  while (bytes.size() < wanted) {
    const std::size_t had = bytes.size();
    bytes.resize(had + std::min<std::size_t>(chunk, static_cast<std::size_t>(wanted) - had));
    const std::size_t got = source.read(std::span(bytes).subspan(had));
    if (had + got < bytes.size())
      throw not_idx(source.path(), core::format("it is truncated: it has {} of {} bytes of data", had + got,
                                                static_cast<std::uint64_t>(wanted)));
  }
  std::array<std::uint8_t, 1> more{};
  if (source.read(more) != 0) throw not_idx(source.path(), "extra bytes follow its last element");
  return bytes;
}

}  // namespace

IdxFile read_idx(const std::string& path) {
  GzipFile source(path);
  IdxFile file;
  file.name = source.name();
  file.shape = read_shape(source);
  file.bytes = read_elements(source, file.shape);
  file.sha256 = source.sha256();
  return file;
}

}  // namespace paragrad::data
