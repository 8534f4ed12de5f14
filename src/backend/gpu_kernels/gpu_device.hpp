#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/all_kernels.hpp"
#include "backend/device.hpp"
#include "backend/device_array.hpp"
#include "backend/gpu_kernels/channels.hpp"
#include "backend/gpu_kernels/convolution.hpp"
#include "backend/gpu_kernels/ctc.hpp"
#include "backend/gpu_kernels/losses.hpp"
#include "backend/gpu_kernels/lstm.hpp"
#include "backend/gpu_kernels/move_group.hpp"
#include "backend/gpu_kernels/multiplication.hpp"
#include "backend/gpu_kernels/orthonormalise.hpp"
#include "backend/gpu_kernels/packed_convolution.hpp"
#include "backend/gpu_kernels/padded_channels.hpp"
#include "backend/gpu_kernels/padded_product.hpp"
#include "backend/gpu_kernels/quantise.hpp"
#include "backend/gpu_kernels/select.hpp"
#include "backend/gpu_kernels/streams.hpp"
#include "backend/gpu_kernels/sums.hpp"

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
///   static std::size_t most_patches          elements of scratch memory for a convolution
///   void run(const Kernel&)                  in call order, like multiply; both may be deferred until submit
///   void multiply(const Multiplication&)
///   bool uses_tensor_cores() const           whether products do
///   bool wants_padded(product) const         whether to compute it as a PaddedProduct
///   bool has_convolutions()                  whether there is a library of convolutions
///   bool can_run(const PackedConvolution&)   whether it computes this one; otherwise it is made of products
///   void convolve(const PackedConvolution&)  one that can_run() accepts, in call order
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
  void move(std::span<const Move> moves) override {
    while (!moves.empty()) {
      MoveGroup group{};
      const auto some = moves.first(std::min(moves.size(), MoveGroup::most));
      for (const Move& each : some) {
        const std::span<const float> from(each.from, each.floats);
        const std::span<float> to(each.to, each.floats);
        if (each.adds)
          count(Add::id, Add{from, to}.cost());
        else
          count(Copy::id, Copy{from, to}.cost());
        if (each.floats > 0) group.add(each);
      }
      if (group.count > 0) runtime_.run(group);
      moves = moves.subspan(some.size());
    }
  }

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

  auto runner() {
    return [this](const auto& kernel) { runtime_.run(kernel); };
  }

  void do_transfer(std::size_t bytes, const std::byte* from, std::byte* to) override { runtime_.transfer(bytes, from, to); }
  void do_upload(std::size_t bytes, const std::byte* from, std::byte* to) override { runtime_.upload(bytes, from, to); }
  void do_decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
                 std::span<const std::uint32_t> windows, std::size_t width, float* features) override {
    runtime_.run(
        Stream<Decode>{windows.size() * width, {encoding, frame_dim, width, stored.data(), windows.data(), features}});
  }
  void do_run(const KernelRef& ref) override {
    visit(ref, [this](const auto& kernel) { body(kernel); });
  }

  // ---- the bodies, on device memory ----

  template <class Kernel>
  requires(Elementwise<Kernel> && !ChannelKernel<Kernel>) void body(const Kernel& kernel) { run_elements(runner(), kernel); }
  template <ChannelKernel Kernel>
  void body(const Kernel& kernel) {
    auto* const partial = scratch<ChannelSums>("channel sums", channel_sums_scratch(kernel));
    auto* const pairs = scratch<ChannelPair<float>>("channels", kernel.extent().channels);
    run_channels(runner(), kernel, partial, pairs);
  }
  template <SumKernel Kernel>
  void body(const Kernel& kernel) {
    double* const partial = scratch<double>("sums", most_partial_sums);
    if (kernel.terms() > 0) add_sum(runner(), kernel, partial);
  }

  /// A product outside branches, which must not share the scratch memory.
  void multiply(const Multiplication& product) {
    if (!runtime_.wants_padded(product)) return runtime_.multiply(product);
    PaddedProduct padded(product);
    padded.copy_from(runner(), scratch<float>("padded", padded.floats()));
    runtime_.multiply(padded.product());
    padded.copy_back(runner());
  }

  /// C = f(C + bias[n]) after a product, or fused into it.
  void multiply_and_add(Multiplication product, const float* bias, Activation f) {
    if (Multiplication::can_end_with(bias, f)) {
      product.bias = bias;
      product.f = f;
      return multiply(product);
    }
    multiply(product);
    if (product.m * product.n > 0) runtime_.run(Stream<AddBias>{product.m * product.n, {f, product.n, bias, product.c}});
  }
  void body(const Gemm& kernel) {
    const auto& [ta, tb, m, n, k, a, b, keep, c] = kernel;
    multiply({m,
              n,
              k,
              {a.data(), ta == Transpose::no ? k : m, ta},
              {b.data(), tb == Transpose::no ? n : k, tb},
              keep,
              c.data(),
              n});
  }
  void body(const AffineForward& kernel) {
    const auto& [batch, in, out, x, w, bias, f, y] = kernel;
    multiply_and_add({batch, out, in, {x.data(), in}, {w.data(), out}, 0, y.data(), out}, bias.data(), f);
  }
  void body(const AffineBackwardInput& kernel) {
    const auto& [batch, in, out, dz, w, x, f, dx] = kernel;
    body(Gemm{Transpose::no, Transpose::yes, batch, in, out, dz, w, 0, dx});
    if (f != Activation::identity) body(ActivationBackward{f, x, dx});
  }
  void body(const AffineBackwardWeights& kernel) {
    const auto& [batch, in, out, first_row, rows, x, dz, keep, dw] = kernel;
    multiply({rows, out, batch, {x.data() + first_row, in, Transpose::yes}, {dz.data(), out}, keep, dw.data(), out});
  }
  void body(const AffineDescend& kernel) {
    body(kernel.gradient());
    body(kernel.descent());
  }
  void body(const AffineReverse& kernel) {
    const auto& [batch, in, out, y, w, bias, f, x] = kernel;
    multiply_and_add({batch, in, out, {y.data(), out}, {w.data(), out, Transpose::yes}, 0, x.data(), in}, bias.data(), f);
  }

  float* patches_for(const ConvolutionShape& shape) {
    return scratch<float>("patches", patches_scratch(shape, Runtime::most_patches));
  }
  /// The convolution as the library computes it, with packed filters, or a place for their gradient, in scratch memory;
  /// nothing if the library cannot compute it or matrix products are faster. They are without tensor cores, where the
  /// patches need no copying, and for the filters' gradient if a group's channels do not come in fours.
  std::optional<PackedConvolution> for_library(PackedConvolution convolution) {
    const ConvolutionShape& shape = convolution.shape;
    const bool of_filters = convolution.pass == PackedConvolution::Pass::backward_weights;
    const bool has_better_products =
        consists_of_products(shape) &&
        (!runtime_.uses_tensor_cores() || distance_of_patches(shape) > 0 || (of_filters && shape.group_channels() % 4 != 0));
    if (!runtime_.has_convolutions() || shape.rows == 0 || has_better_products) return std::nullopt;

    const float* const w = convolution.b;
    float* const packed = scratch<float>("filters", shape.filters());
    if (of_filters)
      convolution.result = packed;
    else
      convolution.b = packed;
    if (!runtime_.can_run(convolution)) return std::nullopt;
    if (!of_filters) runtime_.run(PackFilters{shape.inner(), shape.outputs, w, packed}.in_tiles());
    return convolution;
  }
  void add_bias(const ConvolutionForward& kernel) {
    if (!kernel.bias.empty())
      runtime_.run(Stream<AddBias>{kernel.y.size(), {kernel.f, kernel.shape.outputs, kernel.bias.data(), kernel.y.data()}});
    else if (kernel.f != Activation::identity)
      body(Activate{kernel.f, kernel.y, kernel.y});
  }

  void body(const ConvolutionForward& kernel) {
    const auto& [shape, x, w, bias, f, y] = kernel;
    if (const auto convolution = for_library({PackedConvolution::Pass::forward, shape, 0, x.data(), w.data(), y.data()})) {
      runtime_.convolve(*convolution);
      return add_bias(kernel);
    }
    if (!consists_of_products(shape)) return run_elements(runner(), kernel);
    const bool fused = shape.groups == 1 && !bias.empty();
    convolve(runtime_, kernel, Runtime::most_patches, patches_for(shape), [&, f = f](const Multiplication& product) {
      if (fused)
        multiply_and_add(product, kernel.bias.data(), f);
      else
        runtime_.multiply(product);
    });
    if (!fused) add_bias(kernel);
  }
  void body(const ConvolutionBackwardInput& kernel) {
    const auto& [shape, dy, w, keep, f, x, dx] = kernel;
    if (const auto convolution =
            for_library({PackedConvolution::Pass::backward_input, shape, keep, dy.data(), w.data(), dx.data()})) {
      runtime_.convolve(*convolution);
      if (f != Activation::identity) body(ActivationBackward{f, x, dx});
      return;
    }
    if (!consists_of_products(shape)) return run_elements(runner(), kernel);
    convolve_back(runtime_, kernel, Runtime::most_patches, patches_for(shape));
    if (distance_of_patches(shape) > 0 && f != Activation::identity) body(ActivationBackward{f, x, dx});
  }
  void body(const ConvolutionBackwardWeights& kernel) {
    const auto& [shape, x, dy, keep, dw] = kernel;
    if (const auto convolution =
            for_library({PackedConvolution::Pass::backward_weights, shape, 0, x.data(), dy.data(), nullptr})) {
      runtime_.convolve(*convolution);
      runtime_.run(AddPackedFilters{shape.inner(), shape.outputs, convolution->result, keep, dw.data()}.in_tiles());
    } else if (runtime_.uses_tensor_cores() && PaddedChannels::pays(shape)) {
      const PaddedChannels channels(shape);
      float* const images = scratch<float>("images", channels.images());
      const std::span<float> filters(scratch<float>("filters", channels.padded().filters()), channels.padded().filters());
      channels.copy_images(runner(), x.data(), images);
      const ConvolutionBackwardWeights padded{channels.padded(), {images, channels.images()}, dy, 0, filters};
      convolution_gradient(runtime_, padded, Runtime::most_patches, patches_for(channels.padded()));
      channels.add_gradient(runner(), filters.data(), keep, dw.data());
    } else if (consists_of_products(shape)) {
      convolution_gradient(runtime_, kernel, Runtime::most_patches, patches_for(shape));
    } else {
      return run_elements(runner(), kernel);
    }
    if (kernel.has_bias())
      body(BiasGradient{shape.rows * shape.positions(), shape.outputs, dy, keep, dw.subspan(shape.filters())});
  }

  void body(const LstmForward& kernel) {
    const auto& [shape, steps, weights, memory, y] = kernel;
    lstm_forward(runtime_, shape, steps, weights, memory, y.data());
  }
  void body(const LstmBackward& kernel) {
    const auto& [shape, steps, weights, memory, dy] = kernel;
    float* const of_steps = scratch<float>("lstm", lstm_backward_scratch(shape, steps));
    lstm_backward(runtime_, shape, steps, weights, memory, of_steps, dy.data());
  }
  void body(const LstmGradient& kernel) {
    const LstmShape& shape = kernel.shape;
    const Steps& steps = kernel.steps;
    float* const before = scratch<float>("lstm", shape.directions * steps.frames() * shape.outputs);
    StepTables& before_steps = before_[shape.reverse ? 2 : shape.directions - 1];
    const std::uint32_t* const frames = before_steps.of(*this, steps.active(), [&] { return frames_before(shape, steps); });
    lstm_gradient(runtime_, shape, steps.frames(), frames, kernel.y.data(), kernel.memory, kernel.dy.data(), kernel.keep,
                  before, kernel.gradients);
  }

  void body(const BiasGradient& kernel) {
    const auto& [batch, out, dz, keep, dbias] = kernel;
    if (out == 0) return;
    float* const partial = scratch<float>("column sums", column_sums_scratch(batch, out));
    add_column_sums(runner(), batch, out, dz.data(), keep, partial, dbias.data());
  }

  template <class Rows, class Kernel, class... More>
  void add_losses(const Kernel& kernel, std::size_t width, float* outputs, More... more) {
    if (kernel.batch == 0) return;
    RowLoss* const rows = scratch<RowLoss>("losses", kernel.batch);
    runtime_.run(Rows{kernel.batch, width, kernel.labels.data(), outputs, rows, more...});
    runtime_.run(AddRowLosses{kernel.batch, rows, kernel.into});
  }
  void body(const SoftmaxCrossEntropy& kernel) {
    add_losses<SoftmaxRows>(kernel, kernel.classes, kernel.logits.data(), kernel.smoothing);
  }
  void body(const SquaredError& kernel) {
    add_losses<SquaredErrorRows>(kernel, kernel.outputs, kernel.y.data(), data_of(kernel.targets));
  }
  void body(const backend::Ctc& kernel) {
    const std::span<const std::uint32_t> active = kernel.steps.active();
    auto* const notes = scratch<std::byte>("ctc", ctc_scratch(kernel.classes, active));
    ctc(runner(), kernel.classes, active, lengths_.of(*this, active, [&] { return to_vector(active); }),
        kernel.labels.data(), kernel.logits.data(), notes, kernel.into);
  }

  void body(const Quantise& kernel) {
    const auto& [quantiser, rows, columns, x, residual, packed, saturated] = kernel;
    if (rows * columns == 0) return;
    auto* const notes = scratch<std::byte>("quantise", quantise_scratch(quantiser, columns));
    quantise(runner(), quantiser, rows, columns, x.data(), data_of(residual), packed.data(), data_of(saturated), notes);
  }
  void body(const Dequantise& kernel) {
    const auto& [quantiser, rows, columns, packed, keep, x] = kernel;
    if (rows * columns > 0) dequantise(runner(), quantiser, rows, columns, packed.data(), keep, x.data());
  }
  void body(const SelectLargest& kernel) {
    const std::size_t count = kernel.x.size();
    if (count == 0) return;
    auto* const notes = scratch<std::byte>("select", select_scratch(count));
    select_largest(runner(), kernel.keep, count, kernel.x.data(), data_of(kernel.residual), kernel.packed.data(), notes);
  }
  void body(const ScatterAdd& kernel) {
    if (!kernel.x.empty())
      scatter_add(runner(), kernel.pairs(), kernel.packed.data(), kernel.keep, kernel.x.size(), kernel.x.data());
  }
  void body(const Orthonormalise& kernel) {
    if (!kernel.matrix.empty()) runtime_.run(OrthonormaliseInOneBlock{kernel.rows, kernel.rank, kernel.matrix.data()});
  }

  /// nullptr for none.
  template <class T>
  static T* data_of(std::span<T> optional) {
    return optional.empty() ? nullptr : optional.data();
  }

  static std::vector<std::uint32_t> to_vector(std::span<const std::uint32_t> active) {
    return {active.begin(), active.end()};
  }

  Runtime runtime_;
  std::map<std::string, core::Arena> scratch_;
  StepTables lengths_;                // sequence lengths, as in Steps
  std::array<StepTables, 3> before_;  // frames_before() of one direction, of two, and of one that runs back
};

}  // namespace paragrad::backend::gpu_kernels
