#include "backend/kernels/select.hpp"
#include "comm/compression/entry.hpp"
#include "comm/compression/striped.hpp"
#include "core/share_of.hpp"

namespace paragrad::comm::compression {
namespace {

/// The elements of largest magnitude with their positions, eight bytes each (Aji and Heafield, EMNLP 2017). They are chosen
/// in each stripe separately, so that all codes of a stripe have the same length; of the sum, if it is compressed, again
/// only the largest are sent (DoubleSqueeze: Tang, Lian, Yu, Zhang & Liu, ICML 2019).
class TopK : public Codec {
 public:
  explicit TopK(double share) : share_(share) {}

  Grain grain() const override { return Grain::element; }
  std::size_t bytes(const Stripe& stripe) const override { return 8 * kept(stripe.range.size()); }

  void encode(backend::KernelQueue& queue, const Stripe&, std::span<const float> x, std::span<float> residual,
              std::span<std::byte> packed) const override {
    queue.run(backend::SelectLargest{kept(x.size()), x, residual, packed});
  }
  void decode(backend::KernelQueue& queue, const Stripe&, std::span<const std::byte> packed, float keep,
              std::span<float> x) const override {
    queue.run(backend::ScatterAdd{packed, keep, x});
  }

 private:
  std::size_t kept(std::size_t elements) const { return core::share_of(share_, elements); }

  double share_;
};

}  // namespace

Entry top_k_entry() {
  return {{.name = "top_k",
           .parameter = ":SHARE",
           .example = ":0.1",
           .summary = "only the largest elements, SHARE of all",
           .source = "Aji and Heafield, EMNLP 2017",
           .options = core::options_of<CodecOptions>()},
          [](std::string_view parameter, const core::Settings& settings, std::uint64_t) {
            const auto share = parse_parameter<double>(parameter, {.least = 0, .most = 1, .without_least = true});
            return sum_of_codes(std::make_unique<TopK>(share), core::read_options<CodecOptions>(settings));
          }};
}

}  // namespace paragrad::comm::compression
