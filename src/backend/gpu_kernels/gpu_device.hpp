#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/device_array.hpp"
#include "backend/gpu_kernels/ctc.hpp"
#include "backend/gpu_kernels/losses.hpp"
#include "backend/gpu_kernels/lstm.hpp"
#include "backend/gpu_kernels/multiplication.hpp"
#include "backend/gpu_kernels/orthonormalise.hpp"
#include "backend/gpu_kernels/quantise.hpp"
#include "backend/gpu_kernels/select.hpp"
#include "backend/gpu_kernels/streams.hpp"
#include "backend/gpu_kernels/sums.hpp"
#include "backend/kernels.hpp"

namespace paragrad::backend::gpu_kernels {

/// Device tables derived from the sequence lengths of a minibatch. Cached, because many minibatches have equal lengths.
class StepTables {
 public:
  template <class Make>
  const std::uint32_t* of(Device& device, std::span<const std::uint32_t> active, const Make& make) {
    constexpr std::size_t most_tables = 64;
    const std::vector<std::uint32_t> key(active.begin(), active.end());
    if (const auto known = tables_.find(key); known != tables_.end()) return known->second.data();
    if (tables_.size() == most_tables) {
      device.finish();  // wait for kernels that read them
      tables_.clear();
    }
    const std::vector<std::uint32_t> table = make();
    return (tables_[key] = on_device(device, std::span(table))).data();
  }

 private:
  std::map<std::vector<std::uint32_t>, DeviceArray<std::uint32_t>> tables_;
};

/// A device that uses the kernels of this folder. The runtime must provide:
///
///   core::Arena allocate(count) const        zeros, in memory described by is_host(), is_isolated() and is_cuda()
///   core::Arena allocate_on_host(count) const
///   std::string hardware() const             as Device's
///   void run(const Kernel&)                  in call order, like multiply; both may be deferred until submit
///   void multiply(const Multiplication&)
///   void side_by_side(count, branch)         calls branch(i) for each i; the branches' calls may run concurrently
///   void submit(), void finish(), void transfer(bytes, from, to), void upload(bytes, from, to),
///   std::unique_ptr<CopyStream> make_copy_stream(Device&),
///   std::unique_ptr<DeviceAllreduce> make_allreduce(Device&)      as Device's
template <class Runtime>
class GpuDevice : public Device {
 public:
  template <class... Arguments>
  explicit GpuDevice(Arguments&&... arguments) : runtime_(std::forward<Arguments>(arguments)...) {}

  std::string_view name() const override { return runtime_.name(); }
  core::Arena allocate(std::size_t count) const override { return runtime_.allocate(count); }
  bool is_host() const override { return runtime_.is_host(); }
  bool is_isolated(const void* address) const override { return runtime_.is_isolated(address); }
  bool is_cuda() const override { return runtime_.is_cuda(); }
  std::string hardware() const override { return runtime_.hardware(); }
  core::Arena allocate_on_host(std::size_t count) const override { return runtime_.allocate_on_host(count); }
  void finish() override { runtime_.finish(); }
  std::unique_ptr<CopyStream> make_copy_stream() override { return runtime_.make_copy_stream(*this); }
  std::unique_ptr<DeviceAllreduce> make_allreduce() override { return runtime_.make_allreduce(*this); }
  void submit() override { runtime_.submit(); }

 private:
  /// Scratch memory of the kernels, one array per purpose; it grows and is kept.
  template <class T>
  T* scratch(const char* purpose, std::size_t count) {
    core::Arena& arena = scratch_[purpose];
    const std::size_t floats = (count * sizeof(T) + sizeof(float) - 1) / sizeof(float);
    if (arena.size() < floats) {
      runtime_.finish();  // wait for users of the smaller one
      arena = runtime_.allocate(floats);
    }
    return reinterpret_cast<T*>(arena.span().data());
  }

  template <class Formula>
  void stream(std::size_t count, const Formula& formula) {
    if (count > 0) runtime_.run(Stream<Formula>{count, formula});
  }

  /// C = f(C + bias[n]) after a product, or fused into it.
  void multiply_and_add(Multiplication product, const float* bias, Activation f) {
    if (Multiplication::can_end_with(bias, f)) {
      product.bias = bias;
      product.f = f;
      return runtime_.multiply(product);
    }
    runtime_.multiply(product);
    stream(product.m * product.n, AddBias{f, product.n, bias, product.c});
  }

  auto runner() {
    return [this](const auto& kernel) { runtime_.run(kernel); };
  }

  void do_transfer(std::size_t bytes, const std::byte* from, std::byte* to) override { runtime_.transfer(bytes, from, to); }

  void do_decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
                 std::span<const std::uint32_t> windows, std::size_t width, float* features) override {
    stream(windows.size() * width, Decode{encoding, frame_dim, width, stored.data(), windows.data(), features});
  }

  void do_upload(std::size_t bytes, const std::byte* from, std::byte* to) override { runtime_.upload(bytes, from, to); }

  void do_gemm(Transpose ta, Transpose tb, std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b,
               float keep, float* c) override {
    runtime_.multiply({m, n, k, {a, ta == Transpose::no ? k : m, ta}, {b, tb == Transpose::no ? n : k, tb}, keep, c, n});
  }
  void do_affine_forward(std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* w,
                         const float* bias, Activation f, float* y) override {
    multiply_and_add({batch, out, in, {x, in}, {w, out}, 0, y, out}, bias, f);
  }
  void do_affine_backward_input(std::size_t batch, std::size_t in, std::size_t out, const float* dz, const float* w,
                                const float* x, Activation f, float* dx) override {
    do_gemm(Transpose::no, Transpose::yes, batch, in, out, dz, w, 0, dx);
    if (f != Activation::identity) stream(batch * in, TimesSlope{f, x, dx});
  }
  void do_affine_backward_weights(std::size_t batch, std::size_t in, std::size_t out, std::size_t first_row,
                                  std::size_t rows, const float* x, const float* dz, float keep, float* dw) override {
    runtime_.multiply({rows, out, batch, {x + first_row, in, Transpose::yes}, {dz, out}, keep, dw, out});
  }
  void do_affine_reverse(std::size_t batch, std::size_t in, std::size_t out, const float* y, const float* w,
                         const float* bias, Activation f, float* x) override {
    multiply_and_add({batch, in, out, {y, out}, {w, out, Transpose::yes}, 0, x, in}, bias, f);
  }

  void do_lstm_forward(const LstmShape& shape, const Steps& steps, const LstmWeights& weights, const LstmMemory& memory,
                       float* y) override {
    gpu_kernels::lstm_forward(runtime_, shape, steps, weights, memory, y);
  }
  void do_lstm_backward(const LstmShape& shape, const Steps& steps, const LstmWeights& weights, const LstmMemory& memory,
                        float* dy) override {
    float* const memory_of_steps = scratch<float>("lstm", lstm_backward_scratch(shape, steps));
    gpu_kernels::lstm_backward(runtime_, shape, steps, weights, memory, memory_of_steps, dy);
  }
  void do_lstm_gradient(const LstmShape& shape, const Steps& steps, const float* y, const LstmMemory& memory,
                        const float* dy, float keep, const LstmGradients& gradients) override {
    float* const before = scratch<float>("lstm", shape.directions * steps.frames() * shape.outputs);
    gpu_kernels::lstm_gradient(
        runtime_, shape, steps.frames(),
        before_[shape.directions - 1].of(*this, steps.active(), [&] { return frames_before(shape.directions, steps); }), y,
        memory, dy, keep, before, gradients);
  }

  void do_bias_gradient(std::size_t batch, std::size_t out, const float* dz, float keep, float* dbias) override {
    if (out == 0) return;
    float* const partial = scratch<float>("column sums", column_sums_scratch(batch, out));
    add_column_sums(runner(), batch, out, dz, keep, partial, dbias);
  }
  void do_activation_backward(Activation f, std::size_t count, const float* y, float* dz) override {
    stream(count, TimesSlope{f, y, dz});
  }

  template <class Loss>
  void add_losses(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* outputs, LossSum* into) {
    if (batch == 0) return;
    RowLoss* const rows = scratch<RowLoss>("losses", batch);
    runtime_.run(Loss{batch, classes, labels, outputs, rows});
    runtime_.run(AddRowLosses{batch, rows, into});
  }
  void do_softmax_cross_entropy(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* logits,
                                LossSum* into) override {
    add_losses<SoftmaxCrossEntropy>(batch, classes, labels, logits, into);
  }
  void do_squared_error(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* y,
                        LossSum* into) override {
    add_losses<SquaredError>(batch, classes, labels, y, into);
  }

  void do_ctc(std::size_t classes, std::span<const std::uint32_t> active, const std::int32_t* labels, float* logits,
              LossSum* into) override {
    auto* const notes = scratch<std::byte>("ctc", ctc_scratch(classes, active));
    gpu_kernels::ctc(runner(), classes, active, lengths_.of(*this, active, [&] { return to_vector(active); }), labels,
                     logits, notes, into);
  }

  void do_fill(float value, std::size_t count, float* x) override { stream(count, Fill{value, x}); }
  void do_copy(std::size_t count, const float* from, float* to) override { stream(count, Copy{from, to}); }
  void do_copy_columns(std::size_t rows, std::size_t columns, std::size_t from_width, const float* from,
                       std::size_t to_width, float* to) override {
    stream(rows * columns, CopyColumns{columns, from_width, to_width, from, to});
  }
  void do_scale(float factor, std::size_t count, float* x) override { stream(count, ScaleBy{factor, x}); }
  void do_add(std::size_t count, const float* from, float* to) override { stream(count, Add{from, to}); }
  void do_clamp(float limit, std::size_t count, float* x) override { stream(count, Clamp{limit, x}); }
  void do_limit_row_norms(std::size_t rows, std::size_t columns, float limit, float* w) override {
    stream(rows, LimitRowNorm{rows, columns, limit, w});
  }
  void do_descend(float rate, float decay, std::size_t count, float* d, float* w) override {
    stream(count, Descend{rate, decay, d, w});
  }
  void do_momentum_update(float rate, float momentum, bool nesterov, float decay, std::size_t count, const float* g,
                          float* v, float* w) override {
    stream(count, MomentumUpdate{rate, momentum, decay, nesterov, g, v, w});
  }
  void do_adam_update(const AdamStep& step, std::size_t count, const float* g, float* m, float* v, float* w) override {
    stream(count, AdamUpdate{formulas::Adam<float>(step), g, m, v, w});
  }
  void do_block_filter(float momentum, float rate, float ahead_before, float ahead, std::size_t count, float* average,
                       float* w, float* delta) override {
    stream(count, BlockFilter{momentum, rate, ahead_before, ahead, average, w, delta});
  }
  void do_look_ahead(float ahead, std::size_t count, const float* w, const float* delta, float* to) override {
    stream(count, LookAhead{ahead, w, delta, to});
  }
  void do_moment_filter(double past, double keep, bool of_squares, std::size_t count, float* moment, float* base) override {
    stream(count, FilterMoment{formulas::MomentFilter<float>(past, keep, of_squares), moment, base});
  }

  void do_quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const float* x, float* residual,
                   std::byte* packed) override {
    if (rows * columns == 0) return;
    auto* const notes = scratch<std::byte>("quantise", quantise_scratch(quantiser, columns));
    gpu_kernels::quantise(runner(), quantiser, rows, columns, x, residual, packed, notes);
  }
  void do_dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const std::byte* packed, float keep,
                     float* x) override {
    if (rows * columns > 0) gpu_kernels::dequantise(runner(), quantiser, rows, columns, packed, keep, x);
  }
  void do_select_largest(std::size_t keep, std::size_t count, const float* x, float* residual, std::byte* packed) override {
    if (count == 0) return;
    auto* const notes = scratch<std::byte>("select", select_scratch(count));
    gpu_kernels::select_largest(runner(), keep, count, x, residual, packed, notes);
  }
  void do_scatter_add(std::size_t pairs, const std::byte* packed, float keep, std::size_t count, float* x) override {
    if (count > 0) gpu_kernels::scatter_add(runner(), pairs, packed, keep, count, x);
  }
  void do_orthonormalise(std::size_t rows, std::size_t rank, float* matrix) override {
    if (rows * rank > 0) gpu_kernels::orthonormalise(runner(), rows, rank, matrix);
  }

  template <class Term>
  void add_to(double weight, std::size_t count, const Term& term, double* into) {
    double* const partial = scratch<double>("sums", most_partial_sums);
    if (count > 0) add_sum(runner(), weight, count, term, partial, into);
  }
  void do_add_squared_norm(double weight, std::size_t count, const float* x, double* into) override {
    add_to(weight, count, Product{x, x}, into);
  }
  void do_add_squared_distance(double weight, std::size_t count, const float* a, const float* b, double* into) override {
    add_to(weight, count, SquaredDifference{a, b}, into);
  }
  void do_add_dot(double weight, std::size_t count, const float* a, const float* b, double* into) override {
    add_to(weight, count, Product{a, b}, into);
  }
  void do_add_softplus_sum(double weight, std::size_t count, const float* x, double* into) override {
    add_to(weight, count, Softplus{x}, into);
  }

  void do_sample_bernoulli(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                           const float* p, float* y) override {
    stream(rows.size() * units, Sample<true>{random, rows.data(), units, p, y});
  }
  void do_sample_normal(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                        const float* mean, float* y) override {
    stream(rows.size() * units, Sample<false>{random, rows.data(), units, mean, y});
  }

  static std::vector<std::uint32_t> to_vector(std::span<const std::uint32_t> active) {
    return {active.begin(), active.end()};
  }

  Runtime runtime_;
  std::map<std::string, core::Arena> scratch_;
  StepTables lengths_;                // sequence lengths, as in Steps
  std::array<StepTables, 2> before_;  // frames_before() of one direction, and of two
};

}  // namespace paragrad::backend::gpu_kernels
