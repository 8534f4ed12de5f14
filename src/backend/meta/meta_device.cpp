#include <cstring>

#include "backend/kernels.hpp"
#include "backend/meta/meta_memory.hpp"

namespace paragrad::backend {

namespace {

/// Counts work (in Device's public functions) without doing any.
class MetaDevice final : public Device {
 public:
  std::string_view name() const override { return "meta"; }
  bool computes() const override { return false; }
  bool is_host() const override { return false; }
  bool is_isolated(const void* address) const override { return is_meta_memory(address); }
  core::Arena allocate(std::size_t count) const override {
    if (count == 0) return {};
    return {reinterpret_cast<float*>(meta_memory), count, [](float*, std::size_t) {}};
  }

 private:
  void do_transfer(std::size_t bytes, const std::byte* from, std::byte* to) override {
    if (!is_meta_memory(from) && !is_meta_memory(to)) std::memcpy(to, from, bytes);
  }
  void do_decode(const core::Encoding&, std::size_t, std::span<const std::byte>, std::span<const std::uint32_t>, std::size_t,
                 float*) override {}
  void do_gemm(Transpose, Transpose, std::size_t, std::size_t, std::size_t, const float*, const float*, float,
               float*) override {}
  void do_affine_forward(std::size_t, std::size_t, std::size_t, const float*, const float*, const float*, Activation,
                         float*) override {}
  void do_affine_backward_input(std::size_t, std::size_t, std::size_t, const float*, const float*, const float*, Activation,
                                float*) override {}
  void do_affine_backward_weights(std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, const float*,
                                  const float*, float, float*) override {}
  void do_affine_reverse(std::size_t, std::size_t, std::size_t, const float*, const float*, const float*, Activation,
                         float*) override {}
  void do_lstm_forward(const LstmShape&, const Steps&, const LstmWeights&, const LstmMemory&, float*) override {}
  void do_lstm_backward(const LstmShape&, const Steps&, const LstmWeights&, const LstmMemory&, float*) override {}
  void do_lstm_gradient(const LstmShape&, const Steps&, const float*, const LstmMemory&, const float*, float,
                        const LstmGradients&) override {}
  void do_bias_gradient(std::size_t, std::size_t, const float*, float, float*) override {}
  void do_activation_backward(Activation, std::size_t, const float*, float*) override {}
  void do_softmax_cross_entropy(std::size_t, std::size_t, const std::int32_t*, float*, LossSum*) override {}
  void do_squared_error(std::size_t, std::size_t, const std::int32_t*, float*, LossSum*) override {}
  void do_ctc(std::size_t, std::span<const std::uint32_t>, const std::int32_t*, float*, LossSum*) override {}
  void do_fill(float, std::size_t, float*) override {}
  void do_copy(std::size_t, const float*, float*) override {}
  void do_copy_columns(std::size_t, std::size_t, std::size_t, const float*, std::size_t, float*) override {}
  void do_scale(float, std::size_t, float*) override {}
  void do_add(std::size_t, const float*, float*) override {}
  void do_clamp(float, std::size_t, float*) override {}
  void do_limit_row_norms(std::size_t, std::size_t, float, float*) override {}
  void do_descend(float, float, std::size_t, float*, float*) override {}
  void do_momentum_update(float, float, bool, float, std::size_t, const float*, float*, float*) override {}
  void do_adam_update(const AdamStep&, std::size_t, const float*, float*, float*, float*) override {}
  void do_block_filter(float, float, float, float, std::size_t, float*, float*, float*) override {}
  void do_look_ahead(float, std::size_t, const float*, const float*, float*) override {}
  void do_moment_filter(double, double, bool, std::size_t, float*, float*) override {}
  void do_quantise(const Quantiser&, std::size_t, std::size_t, const float*, float*, std::byte*) override {}
  void do_dequantise(const Quantiser&, std::size_t, std::size_t, const std::byte*, float, float*) override {}
  void do_select_largest(std::size_t, std::size_t, const float*, float*, std::byte*) override {}
  void do_scatter_add(std::size_t, const std::byte*, float, std::size_t, float*) override {}
  void do_orthonormalise(std::size_t, std::size_t, float*) override {}
  void do_add_squared_norm(double, std::size_t, const float*, double*) override {}
  void do_add_squared_distance(double, std::size_t, const float*, const float*, double*) override {}
  void do_add_dot(double, std::size_t, const float*, const float*, double*) override {}
  void do_add_softplus_sum(double, std::size_t, const float*, double*) override {}
  void do_sample_bernoulli(const core::RandomStream&, std::span<const std::uint32_t>, std::size_t, const float*,
                           float*) override {}
  void do_sample_normal(const core::RandomStream&, std::span<const std::uint32_t>, std::size_t, const float*,
                        float*) override {}
};

}  // namespace

std::unique_ptr<Device> make_meta(std::string_view) { return std::make_unique<MetaDevice>(); }

}  // namespace paragrad::backend
