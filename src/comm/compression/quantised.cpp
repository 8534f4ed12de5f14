#include <cstdint>
#include <optional>
#include <span>

#include "backend/device_array.hpp"
#include "backend/kernels/quantise.hpp"
#include "backend/quantiser.hpp"
#include "comm/allreduce.hpp"
#include "comm/compression/array_codec.hpp"
#include "comm/compression/entry.hpp"
#include "comm/compression/short_floats.hpp"
#include "comm/compression/unit_of_means.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm::compression {
namespace {

/// Few bits per element, quantised column by column, see backend/quantiser.hpp. Columns are CNTK's: all weights that leave
/// one input.
class Quantised : public ArrayCodec {
 public:
  explicit Quantised(const backend::Quantiser& quantiser) : quantiser_(quantiser) {}

  void start(backend::Device& device) override {
    if (quantiser_.code != backend::Code::fp16 || memory_.size() > 0) return;
    memory_ = backend::DeviceArray<std::uint32_t>(device, 1);
    count_ = memory_.span();
  }
  void set_samples(double samples) override { quantiser_.unit = unit_of_means(samples); }
  std::optional<std::uint64_t> saturated(backend::Device& device) override {
    if (count_.empty()) return std::nullopt;
    return backend::value_at(device, count_.data());
  }

 private:
  std::size_t bytes_of(const core::Matrix& matrix) const override {
    return quantiser_.packed_bytes(matrix.shape.rows, matrix.shape.columns);
  }
  void encode_array(backend::KernelQueue& queue, const core::Matrix& matrix, std::span<const float> x,
                    std::span<float> residual, std::span<std::byte> packed) const override {
    queue.run(backend::Quantise{quantiser_, matrix.shape.rows, matrix.shape.columns, x, residual, packed, count_});
  }
  void decode_array(backend::KernelQueue& queue, const core::Matrix& matrix, std::span<const std::byte> packed, float keep,
                    std::span<float> x) const override {
    queue.run(backend::Dequantise{quantiser_, matrix.shape.rows, matrix.shape.columns, packed, keep, x});
  }

  backend::Quantiser quantiser_;
  backend::DeviceArray<std::uint32_t> memory_;
  std::span<std::uint32_t> count_;  // of elements that saturated; empty: none does
};

struct QuantiserOptions : CodecOptions {
  bool threshold_at_mean = false;

  void describe(core::OptionList& list) {
    CodecOptions::describe(list);
    list.choice("quantise-threshold", threshold_at_mean, {{"zero", false}, {"mean", true}},
                "gradients of 1 bit: quantisation threshold, zero or the mean of each column")
        .when(list.chosen_as() == "bits:1",
              core::format("applies to gradients of 1 bit only, not to the compression '{}'", list.chosen_as()));
  }
};

std::unique_ptr<GradientSum> quantised(const backend::Quantiser& quantiser, const CodecOptions& options) {
  return sum_of_codes(std::make_unique<Quantised>(quantiser), options);
}

backend::Code code_of(std::string_view parameter) {
  using backend::Code;
  constexpr std::pair<int, Code> codes[] = {
      {1, Code::bits1}, {2, Code::bits2}, {4, Code::bits4}, {8, Code::bits8}, {16, Code::bits16}};
  const double bits = parse_parameter<double>(parameter, {});
  for (const auto& [known, code] : codes)
    if (bits == known) return code;
  throw core::ConfigError(
      core::format("gradients of {} bits are not supported: choose 1, 2, 4, 8 or 16, or no compression", parameter));
}

struct FormatOptions : CodecOptions {
  CollectiveOptions exchange{.collective = ""};

  void describe(core::OptionList& list) {
    CodecOptions::describe(list);
    list.described("gather-codes")
        .when(exchange.collective.empty(), "has no effect with `collective`, whose messages already carry sums of codes");
    exchange.describe(list);
    list.described("collective")
        .without_default("none: each worker sums its share of the gradient in float32, and rounds the sum");
  }
};

Entry format_entry(core::EntryInfo info, backend::Code code) {
  info.options = core::options_of<FormatOptions>();
  return {std::move(info), [code](std::string_view, const core::Settings& settings, std::uint64_t) {
            const auto options = core::read_options<FormatOptions>(settings);
            const std::string& collective = options.exchange.collective;
            return collective.empty() ? quantised({.code = code}, options) : sum_in_short_floats(code, collective, options);
          }};
}

}  // namespace

Entry bits_entry() {
  return {{.name = "bits",
           .parameter = ":K",
           .example = ":1",
           .summary = "K bits per element: 1, 2, 4, 8 or 16",
           .source = "K = 1: Seide et al., Interspeech 2014",
           .options = core::options_of<QuantiserOptions>()},
          [](std::string_view parameter, const core::Settings& settings, std::uint64_t) {
            const auto options = core::read_options<QuantiserOptions>(settings);
            return quantised({.code = code_of(parameter), .threshold_at_mean = options.threshold_at_mean}, options);
          }};
}

Entry fp16_entry() { return format_entry({.name = "fp16", .summary = "half precision"}, backend::Code::fp16); }

Entry bf16_entry() { return format_entry({.name = "bf16", .summary = "the upper half of float32"}, backend::Code::bf16); }

}  // namespace paragrad::comm::compression
