#include "data/idx_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/sha256.hpp"

namespace paragrad::data {
namespace {

constexpr std::uint8_t unsigned_bytes = 0x08;

/// The bytes of a file in order, decompressed if it is gzip (zlib detects that), and their SHA-256.
class ByteSource {
 public:
  explicit ByteSource(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose_r) {
    if (file_ == nullptr) throw core::ConfigError(core::format("cannot read '{}': {}", path, std::strerror(errno)));
    gzbuffer(file_.get(), 1 << 18);
  }

  /// Up to `bytes.size()` bytes; fewer only at the end.
  std::size_t read(std::span<std::uint8_t> bytes) {
    const int got = gzread(file_.get(), bytes.data(), static_cast<unsigned>(bytes.size()));
    int error = Z_OK;
    const char* message = gzerror(file_.get(), &error);
    if (got < 0 || (error != Z_OK && error != Z_STREAM_END))
      throw core::ConfigError(core::format("cannot read '{}': {}", path_,
                                           error == Z_ERRNO       ? std::strerror(errno)
                                           : error == Z_BUF_ERROR ? "the gzip file is truncated"
                                                                  : message));
    hash_.update(std::as_bytes(bytes.first(static_cast<std::size_t>(got))));
    return static_cast<std::size_t>(got);
  }

  core::ConfigError not_idx(const std::string& why) const {
    return core::ConfigError(core::format("'{}' is not an IDX file of unsigned bytes: {}", path_, why));
  }
  std::string sha256() { return hash_.finish(); }

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  core::Sha256 hash_;
};

std::vector<std::size_t> read_shape(ByteSource& source) {
  std::array<std::uint8_t, 4> word{};
  if (source.read(word) < 4 || word[0] != 0 || word[1] != 0) throw source.not_idx("it does not begin with two zero bytes");
  if (word[2] != unsigned_bytes) throw source.not_idx(core::format("its element type is 0x{:02x}, not 0x08", word[2]));
  std::vector<std::size_t> shape(word[3]);
  if (shape.empty()) throw source.not_idx("it has no dimensions");
  for (auto& size : shape) {
    if (source.read(word) < 4) throw source.not_idx("it ends within its header");
    size = std::size_t{word[0]} << 24 | std::size_t{word[1]} << 16 | std::size_t{word[2]} << 8 | word[3];
  }
  return shape;
}

/// Memory grows with the data actually present, not with the sizes that a damaged header claims.
std::vector<std::uint8_t> read_elements(ByteSource& source, const std::vector<std::size_t>& shape) {
  unsigned __int128 wanted = 1;
  for (const auto size : shape) {
    wanted *= size;
    if (wanted >> 62 != 0) throw source.not_idx(core::format("its shape {} is impossible", fmt::join(shape, "x")));
  }
  std::vector<std::uint8_t> bytes;
  constexpr std::size_t chunk = std::size_t{1} << 22;
  while (bytes.size() < wanted) {
    const std::size_t had = bytes.size();
    bytes.resize(had + std::min<std::size_t>(chunk, static_cast<std::size_t>(wanted) - had));
    const std::size_t got = source.read(std::span(bytes).subspan(had));
    if (had + got < bytes.size())
      throw source.not_idx(
          core::format("it is truncated: it has {} of {} bytes of data", had + got, static_cast<std::uint64_t>(wanted)));
  }
  std::array<std::uint8_t, 1> more{};
  if (source.read(more) != 0) throw source.not_idx("extra bytes follow its last element");
  return bytes;
}

}  // namespace

IdxFile read_idx(const std::string& path) {
  namespace fs = std::filesystem;
  if (!fs::is_regular_file(path)) throw core::ConfigError(core::format("cannot read '{}': there is no such file", path));
  ByteSource source(path);
  IdxFile file;
  file.name = fs::path(path).extension() == ".gz" ? fs::path(path).stem().string() : fs::path(path).filename().string();
  file.shape = read_shape(source);
  file.bytes = read_elements(source, file.shape);
  file.sha256 = source.sha256();
  return file;
}

}  // namespace paragrad::data
