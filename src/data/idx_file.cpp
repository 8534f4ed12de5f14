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

/// The integers among the element types of the format; it also has 0x0d and 0x0e, floating-point numbers.
struct ElementCode {
  std::uint8_t code;
  std::size_t bytes;
  bool has_sign;
};
constexpr std::array<ElementCode, 4> integers{{{0x08, 1, false}, {0x09, 1, true}, {0x0b, 2, true}, {0x0c, 4, true}}};

core::ConfigError not_idx(const std::string& path, const std::string& why) {
  return core::ConfigError(core::format("'{}' is not an IDX file of integers: {}", path, why));
}

/// Sets the type of the elements, too.
void read_shape(GzipFile& source, IdxFile& file) {
  std::array<std::uint8_t, 4> word{};
  if (source.read(word) < 4 || word[0] != 0 || word[1] != 0)
    throw not_idx(source.path(), "it does not begin with two zero bytes");
  const auto found = std::ranges::find(integers, word[2], &ElementCode::code);
  if (found == integers.end())
    throw not_idx(source.path(),
                  core::format("its element type is 0x{:02x}, {}", word[2],
                               word[2] == 0x0d || word[2] == 0x0e ? "floating-point numbers" : "which is unknown"));
  file.element_bytes = found->bytes;
  file.has_sign = found->has_sign;
  std::vector<std::size_t>& shape = file.shape;
  shape.resize(word[3]);
  if (shape.empty()) throw not_idx(source.path(), "it has no dimensions");
  for (auto& size : shape) {
    if (source.read(word) < 4) throw not_idx(source.path(), "it ends within its header");
    size = std::size_t{word[0]} << 24 | std::size_t{word[1]} << 16 | std::size_t{word[2]} << 8 | word[3];
  }
}

/// Memory grows with the data actually present, not with the sizes that a damaged header claims.
std::vector<std::uint8_t> read_elements(GzipFile& source, const IdxFile& file) {
  const std::vector<std::size_t>& shape = file.shape;
  unsigned __int128 wanted = file.element_bytes;
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

std::int32_t IdxFile::integer(std::size_t i) const {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < element_bytes; ++k) value = value << 8 | bytes[i * element_bytes + k];
  const std::size_t unused = has_sign ? 32 - 8 * element_bytes : 0;
  return static_cast<std::int32_t>(value << unused) >> unused;
}

IdxFile read_idx(const std::string& path) {
  GzipFile source(path);
  IdxFile file;
  file.name = source.name();
  read_shape(source, file);
  file.bytes = read_elements(source, file);
  file.sha256 = source.sha256();
  return file;
}

}  // namespace paragrad::data
