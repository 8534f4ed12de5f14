#include "backend/kernels/quantise.hpp"
#include "backend/quantiser.hpp"
#include "comm/compression/makers.hpp"
#include "comm/compression/striped.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm::compression {
namespace {

/// Few bits per element, quantised column by column, see backend/quantiser.hpp. Columns are CNTK's: all weights that leave
/// one input.
class Quantised : public Codec {
 public:
  explicit Quantised(const backend::Quantiser& quantiser) : quantiser_(quantiser) {}

  Grain grain() const override { return Grain::column; }

  std::size_t bytes(const Stripe& stripe) const override {
    std::size_t sum = 0;
    for (const core::Matrix& matrix : stripe.matrices) sum += bytes_of(matrix);
    return sum;
  }

  void encode(backend::KernelQueue& queue, const Stripe& stripe, std::span<const float> x, std::span<float> residual,
              std::span<std::byte> packed) const override {
    for (const core::Matrix& matrix : stripe.matrices) {
      const auto [rows, columns] = matrix.shape;
      queue.run(backend::Quantise{quantiser_, rows, columns, matrix.range().of(x),
                                  residual.empty() ? residual : matrix.range().of(residual),
                                  packed.first(bytes_of(matrix))});
      packed = packed.subspan(bytes_of(matrix));
    }
  }

  void decode(backend::KernelQueue& queue, const Stripe& stripe, std::span<const std::byte> packed, float keep,
              std::span<float> x) const override {
    for (const core::Matrix& matrix : stripe.matrices) {
      const auto [rows, columns] = matrix.shape;
      queue.run(backend::Dequantise{quantiser_, rows, columns, packed.first(bytes_of(matrix)), keep, matrix.range().of(x)});
      packed = packed.subspan(bytes_of(matrix));
    }
  }

 private:
  std::size_t bytes_of(const core::Matrix& matrix) const {
    return quantiser_.packed_bytes(matrix.shape.rows, matrix.shape.columns);
  }

  backend::Quantiser quantiser_;
};

std::unique_ptr<GradientSum> quantised(backend::Code code, const CompressionOptions& options) {
  const backend::Quantiser quantiser{.code = code, .threshold_at_mean = options.threshold_at_mean};
  return std::make_unique<Striped>(std::make_unique<Quantised>(quantiser), options.error_feedback);
}

}  // namespace

std::unique_ptr<GradientSum> make_bits(std::string_view parameter, const CompressionOptions& options) {
  using backend::Code;
  constexpr std::pair<int, Code> codes[] = {
      {1, Code::bits1}, {2, Code::bits2}, {4, Code::bits4}, {8, Code::bits8}, {16, Code::bits16}};
  const double bits = parse_parameter("bits", parameter);
  for (const auto& [known, code] : codes)
    if (bits == known) return quantised(code, options);
  if (bits == 32) return make_none("", options);
  throw core::ConfigError(
      core::format("gradients of {} bits are not supported: choose 1, 2, 4, 8, 16 or 32 (uncompressed)", parameter));
}

std::unique_ptr<GradientSum> make_fp16(std::string_view, const CompressionOptions& options) {
  return quantised(backend::Code::fp16, options);
}

std::unique_ptr<GradientSum> make_bf16(std::string_view, const CompressionOptions& options) {
  return quantised(backend::Code::bf16, options);
}

}  // namespace paragrad::comm::compression
