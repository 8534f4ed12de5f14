#include <vector>

#include "backend/kernels/chunks.hpp"
#include "comm/compression/array_codec.hpp"
#include "comm/compression/entry.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm::compression {
namespace {

/// The largest elements of each chunk of each matrix with their places (SparseLoCo: Sarfi et al., arXiv 2508.15706). A
/// matrix that is no longer than a chunk keeps its share.
class ChunkTopK : public ArrayCodec {
 public:
  explicit ChunkTopK(const backend::ChunkFormat& format) : format_(format) {}

 private:
  std::size_t bytes_of(const core::Matrix& matrix) const override { return format_.packed_bytes(matrix.shape.size()); }
  void encode_array(backend::KernelQueue& queue, const core::Matrix&, std::span<const float> x, std::span<float> residual,
                    std::span<std::byte> packed) const override {
    queue.run(backend::EncodeChunks{format_, x, residual, packed});
  }
  void decode_array(backend::KernelQueue& queue, const core::Matrix&, std::span<const std::byte> packed, float keep,
                    std::span<float> x) const override {
    queue.run(backend::DecodeChunks{format_, packed, keep, x});
  }

  backend::ChunkFormat format_;
};

backend::ChunkFormat format_of(std::string_view parameter) {
  const std::vector<std::string> parts = core::list_of("compression", std::string(parameter));
  if (parts.size() < 2 || parts.size() > 3)
    throw core::ConfigError(
        core::format("compression 'chunk_top_k:{}': write chunk_top_k:KEEP,CHUNK or :KEEP,CHUNK,BITS", parameter));
  backend::ChunkFormat format;
  format.chunk = parse_parameter<std::size_t>(parts[1], {.least = 1, .most = 65536});
  format.keep = parse_parameter<std::size_t>(parts[0], {.least = 1, .most = format.chunk});
  const auto bits = parts.size() == 3 ? parse_parameter<std::size_t>(parts[2], {.least = 2, .most = 32}) : 32;
  if (bits != 2 && bits != 4 && bits != 32)
    throw core::ConfigError(core::format("values of {} bits are not supported in chunk_top_k: choose 2, 4 or 32", bits));
  format.coded = bits != 32;
  format.code = bits == 4 ? backend::Code::bins4 : backend::Code::bins2;
  return format;
}

}  // namespace

Entry chunk_top_k_entry() {
  return {{.name = "chunk_top_k",
           .parameter = ":KEEP,CHUNK[,BITS]",
           .example = ":64,1024,2",
           .summary = "the KEEP largest of each CHUNK elements of a matrix, their values in 2, 4 or 32 BITS (32)",
           .source = "SparseLoCo: Sarfi et al., 2025",
           .options = core::options_of<CodecOptions>()},
          [](std::string_view parameter, const core::Settings& settings, std::uint64_t) {
            return sum_of_codes(std::make_unique<ChunkTopK>(format_of(parameter)),
                                core::read_options<CodecOptions>(settings));
          }};
}

}  // namespace paragrad::comm::compression
