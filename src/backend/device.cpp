// Common to all devices: check shapes, count work, call the body.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "backend/call_checks.hpp"
#include "backend/kernels.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend {

namespace {

constexpr std::size_t pair_bytes = 8;            // of a selected element: index and value
constexpr std::uint64_t philox_operations = 20;  // for each of the four words: 10 rounds of 8 operations
constexpr std::uint64_t pair_indices = std::uint64_t{1} << 32;

// d and w are read and one of them written, with decay both.
WorkMeter descent(std::uint64_t elements, float decay) {
  return decay == 0 ? streaming(elements, 2, 3) : streaming(elements, 4, 4);
}

}  // namespace

void Device::count(Kernel kernel, const CallSize& size, const WorkMeter& work) {
  meter_ += work;
  if (times_) meter_.charge(times_->picoseconds(kernel, size, work));
}

void Device::count_product(Kernel kernel, std::uint64_t batch, std::uint64_t inputs, std::uint64_t outputs) {
  count(kernel, {batch, inputs, outputs}, product(batch, inputs, outputs));
}

void Device::count_streaming(Kernel kernel, std::uint64_t elements, std::uint64_t flops, std::uint64_t accesses) {
  count(kernel, {sizeof(float) * accesses * elements, 1, 1}, streaming(elements, flops, accesses));
}

void Device::count_coding(Kernel kernel, std::uint64_t elements, std::uint64_t flops, std::uint64_t accesses,
                          std::uint64_t packed_bytes) {
  WorkMeter work;
  work.add(KernelKind::streaming, flops * elements, sizeof(float) * accesses * elements + packed_bytes);
  count(kernel, {work.of(KernelKind::streaming).bytes, 1, 1}, work);
}

void Device::imagine(Kernel kernel, const CallSize& size, std::uint64_t flops, std::uint64_t bytes) {
  if (computes())
    throw std::logic_error(core::format("a {} without content on a device that computes", kernel_name(kernel)));
  WorkMeter work;
  work.add(kernel_kind(kernel), flops, bytes);
  count(kernel, size, work);
}

void Device::gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k,
                  std::span<const float> a, std::span<const float> b, float keep, std::span<float> c) {
  expect_size("gemm", "a", a.size(), m * k);
  expect_size("gemm", "b", b.size(), k * n);
  expect_size("gemm", "c", c.size(), m * n);
  count_product(Kernel::gemm, m, k, n);
  do_gemm(transpose_a, transpose_b, m, n, k, a.data(), b.data(), keep, c.data());
}

void Device::affine_forward(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> x,
                            std::span<const float> w, std::span<const float> bias, Activation f, std::span<float> y) {
  expect_size("affine_forward", "x", x.size(), batch * in);
  expect_size("affine_forward", "w", w.size(), in * out);
  expect_size("affine_forward", "bias", bias.size(), out);
  expect_size("affine_forward", "y", y.size(), batch * out);
  count_product(Kernel::affine_forward, batch, in, out);
  do_affine_forward(batch, in, out, x.data(), w.data(), bias.data(), f, y.data());
}

void Device::affine_backward_input(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> dz,
                                   std::span<const float> w, std::span<const float> x, Activation f, std::span<float> dx) {
  expect_size("affine_backward_input", "dz", dz.size(), batch * out);
  expect_size("affine_backward_input", "w", w.size(), in * out);
  expect_size("affine_backward_input", "x", x.size(), batch * in);
  expect_size("affine_backward_input", "dx", dx.size(), batch * in);
  count_product(Kernel::affine_backward_input, batch, in, out);
  do_affine_backward_input(batch, in, out, dz.data(), w.data(), x.data(), f, dx.data());
}

void Device::affine_backward_weights(std::size_t batch, std::size_t in, std::size_t out, std::size_t first_row,
                                     std::size_t rows, std::span<const float> x, std::span<const float> dz, float keep,
                                     std::span<float> dw) {
  if (rows > in || first_row > in - rows) throw std::logic_error("affine_backward_weights: rows outside the matrix");
  expect_size("affine_backward_weights", "x", x.size(), batch * in);
  expect_size("affine_backward_weights", "dz", dz.size(), batch * out);
  expect_size("affine_backward_weights", "dw", dw.size(), rows * out);
  count_product(Kernel::affine_backward_weights, batch, rows, out);
  do_affine_backward_weights(batch, in, out, first_row, rows, x.data(), dz.data(), keep, dw.data());
}

void Device::affine_descend(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> x,
                            std::span<const float> dz, float keep, float rate, float decay, std::span<float> d,
                            std::span<float> w) {
  expect_size("affine_descend", "x", x.size(), batch * in);
  expect_size("affine_descend", "dz", dz.size(), batch * out);
  expect_size("affine_descend", "d", d.size(), in * out);
  expect_size("affine_descend", "w", w.size(), in * out);
  WorkMeter work = product(batch, in, out);
  work += descent(in * out, decay);
  count(Kernel::affine_descend, {batch, in, out}, work);
  do_affine_descend(batch, in, out, x.data(), dz.data(), keep, rate, decay, d.data(), w.data());
}

void Device::do_affine_descend(std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* dz,
                               float keep, float rate, float decay, float* d, float* w) {
  do_affine_backward_weights(batch, in, out, 0, in, x, dz, keep, d);
  do_descend(rate, decay, in * out, d, w);
}

void Device::affine_reverse(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> y,
                            std::span<const float> w, std::span<const float> bias, Activation f, std::span<float> x) {
  expect_size("affine_reverse", "y", y.size(), batch * out);
  expect_size("affine_reverse", "w", w.size(), in * out);
  expect_size("affine_reverse", "bias", bias.size(), in);
  expect_size("affine_reverse", "x", x.size(), batch * in);
  count_product(Kernel::affine_reverse, batch, out, in);
  do_affine_reverse(batch, in, out, y.data(), w.data(), bias.data(), f, x.data());
}

void Device::bias_gradient(std::size_t batch, std::size_t out, std::span<const float> dz, float keep,
                           std::span<float> dbias) {
  expect_size("bias_gradient", "dz", dz.size(), batch * out);
  expect_size("bias_gradient", "dbias", dbias.size(), out);
  count_streaming(Kernel::bias_gradient, batch * out, 1, 1);
  do_bias_gradient(batch, out, dz.data(), keep, dbias.data());
}

void Device::activation_backward(Activation f, std::span<const float> y, std::span<float> dz) {
  expect_size("activation_backward", "y", y.size(), dz.size());
  count_streaming(Kernel::activation_backward, dz.size(), 3, 3);
  do_activation_backward(f, dz.size(), y.data(), dz.data());
}

void Device::softmax_cross_entropy(std::size_t batch, std::size_t classes, std::span<const std::int32_t> labels,
                                   std::span<float> logits, LossSum* into) {
  expect_size("softmax_cross_entropy", "labels", labels.size(), batch);
  expect_size("softmax_cross_entropy", "logits", logits.size(), batch * classes);
  count_streaming(Kernel::softmax_cross_entropy, batch * classes, 4, 2);
  do_softmax_cross_entropy(batch, classes, labels.data(), logits.data(), into);
}

void Device::squared_error(std::size_t batch, std::size_t classes, std::span<const std::int32_t> labels, std::span<float> y,
                           LossSum* into) {
  expect_size("squared_error", "labels", labels.size(), batch);
  expect_size("squared_error", "y", y.size(), batch * classes);
  count_streaming(Kernel::squared_error, batch * classes, 3, 2);
  do_squared_error(batch, classes, labels.data(), y.data(), into);
}

void Device::fill(float value, std::span<float> x) {
  count_streaming(Kernel::fill, x.size(), 0, 1);
  do_fill(value, x.size(), x.data());
}

void Device::copy(std::span<const float> from, std::span<float> to) {
  expect_size("copy", "from", from.size(), to.size());
  count_streaming(Kernel::copy, to.size(), 0, 2);
  do_copy(to.size(), from.data(), to.data());
}

void Device::copy_columns(std::size_t rows, std::size_t columns, std::size_t from_width, std::span<const float> from,
                          std::size_t to_width, std::span<float> to) {
  const std::size_t steps = std::max<std::size_t>(rows, 1) - 1, last = rows == 0 ? 0 : columns;
  if (rows > 1 && (columns > from_width || columns > to_width))
    throw std::logic_error(core::format("copy_columns: {} columns of {} into {}", columns, from_width, to_width));
  expect_size("copy_columns", "from", from.size(), steps * from_width + last);
  expect_size("copy_columns", "to", to.size(), steps * to_width + last);
  count_streaming(Kernel::copy_columns, rows * columns, 0, 2);
  do_copy_columns(rows, columns, from_width, from.data(), to_width, to.data());
}

void Device::scale(float factor, std::span<float> x) {
  count_streaming(Kernel::scale, x.size(), 1, 2);
  do_scale(factor, x.size(), x.data());
}

void Device::add(std::span<const float> from, std::span<float> to) {
  expect_size("add", "from", from.size(), to.size());
  count_streaming(Kernel::add, to.size(), 1, 3);
  do_add(to.size(), from.data(), to.data());
}

void Device::clamp(float limit, std::span<float> x) {
  count_streaming(Kernel::clamp, x.size(), 2, 2);
  do_clamp(limit, x.size(), x.data());
}

void Device::limit_row_norms(std::size_t rows, std::size_t columns, float limit, std::span<float> w) {
  expect_size("limit_row_norms", "w", w.size(), rows * columns);
  count_streaming(Kernel::limit_row_norms, w.size(), 3, 3);
  do_limit_row_norms(rows, columns, limit, w.data());
}

void Device::descend(float rate, float decay, std::span<float> d, std::span<float> w) {
  expect_size("descend", "d", d.size(), w.size());
  const WorkMeter work = descent(w.size(), decay);
  count(Kernel::descend, {work.of(KernelKind::streaming).bytes, 1, 1}, work);
  do_descend(rate, decay, w.size(), d.data(), w.data());
}

void Device::momentum_update(float rate, float momentum, bool nesterov, float decay, std::span<const float> g,
                             std::span<float> v, std::span<float> w) {
  expect_size("momentum_update", "g", g.size(), w.size());
  expect_size("momentum_update", "v", v.size(), w.size());
  count_streaming(Kernel::momentum_update, w.size(), 4 + (nesterov ? 2 : 0) + (decay != 0 ? 2 : 0), 5);
  do_momentum_update(rate, momentum, nesterov, decay, w.size(), g.data(), v.data(), w.data());
}

void Device::adam_update(const AdamStep& step, std::span<const float> g, std::span<float> m, std::span<float> v,
                         std::span<float> w) {
  expect_size("adam_update", "g", g.size(), w.size());
  expect_size("adam_update", "m", m.size(), w.size());
  expect_size("adam_update", "v", v.size(), w.size());
  count_streaming(Kernel::adam_update, w.size(), 17, 7);
  do_adam_update(step, w.size(), g.data(), m.data(), v.data(), w.data());
}

void Device::block_filter(float momentum, float rate, float ahead_before, float ahead, std::span<float> average,
                          std::span<float> w, std::span<float> delta) {
  expect_size("block_filter", "average", average.size(), w.size());
  expect_size("block_filter", "delta", delta.size(), w.size());
  count_streaming(Kernel::block_filter, w.size(), 9, 6);
  do_block_filter(momentum, rate, ahead_before, ahead, w.size(), average.data(), w.data(), delta.data());
}

void Device::look_ahead(float ahead, std::span<const float> w, std::span<const float> delta, std::span<float> to) {
  expect_size("look_ahead", "w", w.size(), to.size());
  expect_size("look_ahead", "delta", delta.size(), to.size());
  count_streaming(Kernel::look_ahead, to.size(), 2, 3);
  do_look_ahead(ahead, to.size(), w.data(), delta.data(), to.data());
}

void Device::moment_filter(double past, double keep, bool of_squares, std::span<float> moment, std::span<float> base) {
  expect_size("moment_filter", "moment", moment.size(), base.size());
  count_streaming(Kernel::moment_filter, base.size(), 6, 4);
  do_moment_filter(past, keep, of_squares, base.size(), moment.data(), base.data());
}

void Device::quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, std::span<const float> x,
                      std::span<float> residual, std::span<std::byte> packed) {
  expect_size("quantise", "x", x.size(), rows * columns);
  if (!residual.empty()) expect_size("quantise", "residual", residual.size(), x.size());
  expect_size("quantise", "packed", packed.size(), quantiser.packed_bytes(rows, columns));
  const std::uint64_t flops = residual.empty() ? 2 : 4, accesses = residual.empty() ? 1 : 3;
  count_coding(Kernel::quantise, x.size(), flops, accesses, packed.size());
  do_quantise(quantiser, rows, columns, x.data(), residual.empty() ? nullptr : residual.data(), packed.data());
}

void Device::dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, std::span<const std::byte> packed,
                        float keep, std::span<float> x) {
  expect_size("dequantise", "packed", packed.size(), quantiser.packed_bytes(rows, columns));
  expect_size("dequantise", "x", x.size(), rows * columns);
  if (keep != 0 && keep != 1) throw std::logic_error("dequantise: keep is neither 0 nor 1");
  count_coding(Kernel::dequantise, x.size(), keep == 0 ? 1 : 2, keep == 0 ? 1 : 2, packed.size());
  do_dequantise(quantiser, rows, columns, packed.data(), keep, x.data());
}

void Device::select_largest(std::size_t keep, std::span<const float> x, std::span<float> residual,
                            std::span<std::byte> packed) {
  if (keep > x.size() || x.size() > pair_indices)
    throw std::logic_error(core::format("select_largest: {} of {} elements", keep, x.size()));
  if (!residual.empty()) expect_size("select_largest", "residual", residual.size(), x.size());
  expect_size("select_largest", "packed", packed.size(), pair_bytes * keep);
  const std::uint64_t flops = residual.empty() ? 1 : 2, accesses = residual.empty() ? 1 : 3;
  count_coding(Kernel::select_largest, x.size(), flops, accesses, packed.size());
  do_select_largest(keep, x.size(), x.data(), residual.empty() ? nullptr : residual.data(), packed.data());
}

void Device::scatter_add(std::span<const std::byte> packed, float keep, std::span<float> x) {
  if (packed.size() % pair_bytes != 0) throw std::logic_error("scatter_add: packed ends within a pair");
  if (keep != 0 && keep != 1) throw std::logic_error("scatter_add: keep is neither 0 nor 1");
  const std::uint64_t pairs = packed.size() / pair_bytes, overwritten = keep == 0 ? x.size() : 0;
  WorkMeter work;  // each pair reads and writes its element
  work.add(KernelKind::streaming, pairs, sizeof(float) * (overwritten + 2 * pairs) + packed.size());
  count(Kernel::scatter_add, {work.of(KernelKind::streaming).bytes, 1, 1}, work);
  do_scatter_add(pairs, packed.data(), keep, x.size(), x.data());
}

void Device::orthonormalise(std::size_t rows, std::size_t rank, std::span<float> matrix) {
  expect_size("orthonormalise", "matrix", matrix.size(), rows * rank);
  // rank (rank - 1) / 2 pairs of columns twice, a product and a subtraction each; norm and division
  count_streaming(Kernel::orthonormalise, matrix.size(), 4 * rank, 2);
  do_orthonormalise(rows, rank, matrix.data());
}

void Device::add_squared_norm(double weight, std::span<const float> x, double* into) {
  count_streaming(Kernel::squared_norm, x.size(), 2, 1);
  do_add_squared_norm(weight, x.size(), x.data(), into);
}

void Device::add_squared_distance(double weight, std::span<const float> a, std::span<const float> b, double* into) {
  expect_size("squared_distance", "a", a.size(), b.size());
  count_streaming(Kernel::squared_distance, a.size(), 3, 2);
  do_add_squared_distance(weight, a.size(), a.data(), b.data(), into);
}

void Device::add_dot(double weight, std::span<const float> a, std::span<const float> b, double* into) {
  expect_size("dot", "a", a.size(), b.size());
  count_streaming(Kernel::dot, a.size(), 2, 2);
  do_add_dot(weight, a.size(), a.data(), b.data(), into);
}

void Device::add_softplus_sum(double weight, std::span<const float> x, double* into) {
  count_streaming(Kernel::softplus_sum, x.size(), 30, 1);  // an exponential and a logarithm
  do_add_softplus_sum(weight, x.size(), x.data(), into);
}

double Device::squared_norm(std::span<const float> x) {
  constexpr std::size_t floats = sizeof(double) / sizeof(float);
  if (number_.size() == 0) number_ = allocate(floats);
  auto* const number = reinterpret_cast<double*>(number_.span().data());
  do_fill(0, floats, number_.span().data());
  add_squared_norm(1, x, number);
  double result = 0;
  transfer(std::span<const double>(number, 1), std::span(&result, 1));
  return result;
}

void Device::transfer_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  expect_size("transfer", "from", from.size(), to.size());
  if (!to.empty()) do_transfer(to.size(), from.data(), to.data());
}

void Device::upload_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  expect_size("upload", "from", from.size(), to.size());
  if (!to.empty()) do_upload(to.size(), from.data(), to.data());
}

void Device::do_transfer(std::size_t bytes, const std::byte* from, std::byte* to) { std::memcpy(to, from, bytes); }

void Device::decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
                    std::span<const std::uint32_t> windows, std::span<float> features) {
  const std::size_t width = windows.empty() ? 0 : features.size() / windows.size();
  expect_size("decode", "features", features.size(), width * windows.size());
  if (width > 0) do_decode(encoding, frame_dim, stored, windows, width, features.data());
}

void Device::do_decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
                       std::span<const std::uint32_t> windows, std::size_t width, float* features) {
  const std::size_t frame_bytes = frame_dim * core::bytes_of(encoding.type);
  for (std::size_t i = 0; i < windows.size(); ++i)
    core::decode(encoding, stored.data() + windows[i] * frame_bytes, {features + i * width, width});
}

std::unique_ptr<CopyStream> Device::make_copy_stream() {
  throw std::logic_error("the device's memory is the host's: it has no copy_stream");
}

std::unique_ptr<DeviceAllreduce> Device::make_allreduce() {
  throw core::ConfigError(
      core::format("the collective 'nccl' needs GPUs, but the device is '{}': choose another collective", name()));
}

void Device::sample_bernoulli(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                              std::span<const float> p, std::span<float> y) {
  expect_size("sample_bernoulli", "p", p.size(), rows.size() * units);
  expect_size("sample_bernoulli", "y", y.size(), rows.size() * units);
  count_streaming(Kernel::sample_bernoulli, y.size(), philox_operations, 2);
  do_sample_bernoulli(random, rows, units, p.data(), y.data());
}

void Device::sample_normal(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                           std::span<const float> mean, std::span<float> y) {
  expect_size("sample_normal", "mean", mean.size(), rows.size() * units);
  expect_size("sample_normal", "y", y.size(), rows.size() * units);
  count_streaming(Kernel::sample_normal, y.size(), philox_operations + 45, 2);  // a logarithm and two polynomials
  do_sample_normal(random, rows, units, mean.data(), y.data());
}

}  // namespace paragrad::backend
