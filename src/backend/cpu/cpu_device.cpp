#include <algorithm>

#include "backend/backend_info.hpp"
#include "backend/cpu/adam_update.hpp"
#include "backend/cpu/affine.hpp"
#include "backend/cpu/blas.hpp"
#include "backend/cpu/ctc.hpp"
#include "backend/cpu/flush_denormals.hpp"
#include "backend/cpu/losses.hpp"
#include "backend/cpu/lstm.hpp"
#include "backend/cpu/product.hpp"
#include "backend/cpu/quantise.hpp"
#include "backend/cpu/sampling.hpp"
#include "backend/cpu/select.hpp"
#include "backend/cpu/sums.hpp"
#include "backend/cpu/vector.hpp"
#include "backend/kernels.hpp"
#include "backend/reference/loops.hpp"
#include "backend/reference/select.hpp"
#include "core/format.hpp"

namespace paragrad::backend {

namespace {

/// Some loops that stream through arrays are the reference's, which the compiler vectorises. Denormal numbers count as zero;
/// all others give the reference's bits there.
class CpuDevice final : public Device {
 public:
  std::string_view name() const override { return "cpu"; }
  core::Arena allocate(std::size_t count) const override { return core::host_arena(count); }

 private:
  void do_gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k, const float* a,
               const float* b, float keep, float* c) override {
    const cpu::FlushDenormals flush;
    cpu::blas_gemm(transpose_a, transpose_b, m, n, k, a, b, keep, c);
  }
  void do_affine_forward(std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* w,
                         const float* bias, Activation f, float* y) override {
    const cpu::FlushDenormals flush;
    cpu::affine_forward(buffer_, batch, in, out, x, w, bias, f, y);
  }
  void do_affine_backward_input(std::size_t batch, std::size_t in, std::size_t out, const float* dz, const float* w,
                                const float* x, Activation f, float* dx) override {
    const cpu::FlushDenormals flush;
    cpu::affine_backward_input(buffer_, batch, in, out, dz, w, x, f, dx);
  }
  void do_affine_backward_weights(std::size_t batch, std::size_t in, std::size_t out, std::size_t first_row,
                                  std::size_t rows, const float* x, const float* dz, float keep, float* dw) override {
    const cpu::FlushDenormals flush;
    cpu::affine_backward_weights(buffer_, batch, in, out, first_row, rows, x, dz, keep, dw);
  }
  void do_affine_descend(std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* dz, float keep,
                         float rate, float decay, float* d, float* w) override {
    const cpu::FlushDenormals flush;
    cpu::affine_descend(buffer_, batch, in, out, x, dz, keep, rate, decay, d, w);
  }
  void do_affine_reverse(std::size_t batch, std::size_t in, std::size_t out, const float* y, const float* w,
                         const float* bias, Activation f, float* x) override {
    const cpu::FlushDenormals flush;
    cpu::affine_reverse(buffer_, batch, in, out, y, w, bias, f, x);
  }
  void do_lstm_forward(const LstmShape& shape, const Steps& steps, const LstmWeights& weights, const LstmMemory& memory,
                       float* y) override {
    const cpu::FlushDenormals flush;
    lstm_.forward(buffer_, shape, steps, weights, memory, y);
  }
  void do_lstm_backward(const LstmShape& shape, const Steps& steps, const LstmWeights& weights, const LstmMemory& memory,
                        float* dy) override {
    const cpu::FlushDenormals flush;
    lstm_.backward(buffer_, shape, steps, weights, memory, dy);
  }
  void do_lstm_gradient(const LstmShape& shape, const Steps& steps, const float* y, const LstmMemory& memory,
                        const float* dy, float keep, const LstmGradients& gradients) override {
    const cpu::FlushDenormals flush;
    lstm_.gradient(buffer_, shape, steps, y, memory, dy, keep, gradients);
  }
  void do_bias_gradient(std::size_t batch, std::size_t out, const float* dz, float keep, float* dbias) override {
    const cpu::FlushDenormals flush;
    cpu::bias_gradient(batch, out, dz, keep, dbias);
  }
  void do_activation_backward(Activation f, std::size_t count, const float* y, float* dz) override {
    const cpu::FlushDenormals flush;
    cpu::with_activation(f, [&]<Activation g>() { cpu::transform(count, dz, cpu::times_slope<g>, dz, y); });
  }
  void do_softmax_cross_entropy(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* logits,
                                LossSum* into) override {
    const cpu::FlushDenormals flush;
    *into += cpu::softmax_cross_entropy(batch, classes, labels, logits);
  }
  void do_squared_error(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* y,
                        LossSum* into) override {
    const cpu::FlushDenormals flush;
    *into += cpu::squared_error(batch, classes, labels, y);
  }
  void do_ctc(std::size_t classes, std::span<const std::uint32_t> active, const std::int32_t* labels, float* logits,
              LossSum* into) override {
    const cpu::FlushDenormals flush;
    *into += cpu::ctc(classes, active, labels, logits);
  }
  void do_fill(float value, std::size_t count, float* x) override { std::fill_n(x, count, value); }
  void do_copy(std::size_t count, const float* from, float* to) override { std::copy_n(from, count, to); }
  void do_copy_columns(std::size_t rows, std::size_t columns, std::size_t from_width, const float* from,
                       std::size_t to_width, float* to) override {
    reference::copy_columns(rows, columns, from_width, from, to_width, to);
  }
  void do_scale(float factor, std::size_t count, float* x) override {
    const cpu::FlushDenormals flush;
    cpu::transform(
        count, x, [&](cpu::Vector v) { return v * factor; }, x);
  }
  void do_add(std::size_t count, const float* from, float* to) override {
    const cpu::FlushDenormals flush;
    cpu::transform(
        count, to, [](cpu::Vector a, cpu::Vector b) { return a + b; }, to, from);
  }
  void do_clamp(float limit, std::size_t count, float* x) override {
    const cpu::FlushDenormals flush;
    reference::clamp(limit, count, x);
  }
  void do_limit_row_norms(std::size_t rows, std::size_t columns, float limit, float* w) override {
    const cpu::FlushDenormals flush;
    reference::limit_row_norms(rows, columns, limit, w);
  }
  void do_descend(float rate, float decay, std::size_t count, float* d, float* w) override {
    const cpu::FlushDenormals flush;
    cpu::descend(rate, decay, count, d, w);
  }
  void do_momentum_update(float rate, float momentum, bool nesterov, float decay, std::size_t count, const float* g,
                          float* v, float* w) override {
    const cpu::FlushDenormals flush;
    reference::momentum_update(rate, momentum, nesterov, decay, count, g, v, w);
  }
  void do_adam_update(const AdamStep& step, std::size_t count, const float* g, float* m, float* v, float* w) override {
    const cpu::FlushDenormals flush;
    cpu::adam_update(step, count, g, m, v, w);
  }
  void do_block_filter(float momentum, float rate, float ahead_before, float ahead, std::size_t count, float* average,
                       float* w, float* delta) override {
    const cpu::FlushDenormals flush;
    reference::block_filter(momentum, rate, ahead_before, ahead, count, average, w, delta);
  }
  void do_look_ahead(float ahead, std::size_t count, const float* w, const float* delta, float* to) override {
    const cpu::FlushDenormals flush;
    cpu::transform(
        count, to, [&](cpu::Vector v, cpu::Vector d) { return v + ahead * d; }, w, delta);
  }
  void do_moment_filter(double past, double keep, bool of_squares, std::size_t count, float* moment, float* base) override {
    const cpu::FlushDenormals flush;
    reference::moment_filter(past, keep, of_squares, count, moment, base);
  }
  void do_quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const float* x, float* residual,
                   std::byte* packed) override {
    const cpu::FlushDenormals flush;
    cpu::quantise(quantiser, rows, columns, x, residual, packed);
  }
  void do_dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const std::byte* packed, float keep,
                     float* x) override {
    const cpu::FlushDenormals flush;
    cpu::dequantise(quantiser, rows, columns, packed, keep, x);
  }
  void do_select_largest(std::size_t keep, std::size_t count, const float* x, float* residual, std::byte* packed) override {
    const cpu::FlushDenormals flush;
    cpu::select_largest(keep, count, x, residual, packed);
  }
  void do_scatter_add(std::size_t pairs, const std::byte* packed, float keep, std::size_t count, float* x) override {
    const cpu::FlushDenormals flush;
    reference::scatter_add(pairs, packed, keep, count, x);
  }
  void do_orthonormalise(std::size_t rows, std::size_t rank, float* matrix) override {
    const cpu::FlushDenormals flush;
    cpu::orthonormalise(rows, rank, matrix);
  }
  void do_add_squared_norm(double weight, std::size_t count, const float* x, double* into) override {
    const cpu::FlushDenormals flush;
    *into += weight * cpu::dot(count, x, x);
  }
  void do_add_squared_distance(double weight, std::size_t count, const float* a, const float* b, double* into) override {
    const cpu::FlushDenormals flush;
    *into += weight * cpu::squared_distance(count, a, b);
  }
  void do_add_dot(double weight, std::size_t count, const float* a, const float* b, double* into) override {
    const cpu::FlushDenormals flush;
    *into += weight * cpu::dot(count, a, b);
  }
  void do_add_softplus_sum(double weight, std::size_t count, const float* x, double* into) override {
    const cpu::FlushDenormals flush;
    *into += weight * cpu::softplus_sum(count, x);
  }
  void do_sample_bernoulli(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                           const float* p, float* y) override {
    const cpu::FlushDenormals flush;
    cpu::sample_bernoulli(random, rows, units, p, y);
  }
  void do_sample_normal(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                        const float* mean, float* y) override {
    const cpu::FlushDenormals flush;
    cpu::sample_normal(random, rows, units, mean, y);
  }

  cpu::PackBuffer buffer_;
  cpu::Lstm lstm_;
};

}  // namespace

std::unique_ptr<Device> make_cpu(std::string_view) { return std::make_unique<CpuDevice>(); }

std::string blas_description() {
  return core::format("{}; own kernels {}", cpu::openblas_description(), cpu::instruction_set());
}

}  // namespace paragrad::backend
