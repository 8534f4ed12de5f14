#include <vector>

#include "comm/compression/array_codec.hpp"
#include "comm/compression/entry.hpp"
#include "core/format.hpp"
#include "python/python_codec.hpp"

namespace paragrad::comm::compression {
namespace {

/// Matrices, or some of their columns, in the encoding of a compressor in Python.
class PythonArrays : public ArrayCodec {
 public:
  explicit PythonArrays(std::shared_ptr<python::PythonCodec> codec) : codec_(std::move(codec)) {}

 private:
  std::size_t bytes_of(const core::Matrix& array) const override {
    constexpr std::size_t multiple = 4;  // of a code's length
    return (codec_->bytes(array.shape) + multiple - 1) / multiple * multiple;
  }

  /// As the kernels of quantisation: an addition and a subtraction, and what the code takes to be written or read.
  template <class Function>
  void run(backend::KernelQueue& queue, const core::Matrix& array, std::size_t accesses, Function function) const {
    const std::uint64_t bytes = sizeof(float) * accesses * array.shape.size() + bytes_of(array);
    queue.run(backend::HostCall{.kernel = backend::KernelId::quantise,
                                .size = {bytes, 1, 1},
                                .flops = 2 * array.shape.size(),
                                .bytes = bytes,
                                .function = [function, codec = codec_, shape = array.shape] { function(*codec, shape); }});
  }

  void encode_array(backend::KernelQueue& queue, const core::Matrix& array, std::span<const float> x,
                    std::span<float> residual, std::span<std::byte> packed) const override {
    run(queue, array, residual.empty() ? 1 : 3, [=](python::PythonCodec& codec, const core::MatrixShape& shape) {
      if (residual.empty()) return codec.encode(shape, x, packed);
      for (std::size_t i = 0; i < x.size(); ++i) residual[i] += x[i];
      codec.encode(shape, residual, packed);
      std::vector<float> decoded(x.size());
      codec.decode(shape, packed, decoded);
      for (std::size_t i = 0; i < x.size(); ++i) residual[i] -= decoded[i];
    });
  }

  void decode_array(backend::KernelQueue& queue, const core::Matrix& array, std::span<const std::byte> packed, float keep,
                    std::span<float> x) const override {
    run(queue, array, keep == 0 ? 1 : 2, [=](python::PythonCodec& codec, const core::MatrixShape& shape) {
      if (keep == 0) return codec.decode(shape, packed, x);
      std::vector<float> decoded(x.size());
      codec.decode(shape, packed, decoded);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += decoded[i];
    });
  }

  std::shared_ptr<python::PythonCodec> codec_;
};

}  // namespace

Entry python_compressor_entry() {
  return {
      {.name = "python",
       .parameter = ":NAME",
       .example = ":Sign",
       .summary = "the compressor in Python that is given with the call",
       .options = core::options_of<CodecOptions>()},
      [](std::string_view parameter, const core::Settings& settings, std::uint64_t) {
        const auto codec = python::CompressorOfCall::current();
        if (codec == nullptr || codec->text() != parameter)
          throw core::ConfigError(core::format(
              "'{}' is a compressor in Python: give the object itself, as in paragrad.train(compression=SIGN)", parameter));
        return sum_of_codes(std::make_unique<PythonArrays>(codec), core::read_options<CodecOptions>(settings));
      }};
}

}  // namespace paragrad::comm::compression
