#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "backend/kernels.hpp"

namespace paragrad::backend {

namespace {

/// Addresses of the isolated device have a bit set that no process can map (bit 61 of a user address is zero); memory of the
/// device meta is above.
constexpr std::uintptr_t wall = std::uintptr_t{1} << 61;

bool is_behind_wall(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return number >= wall && number < wall << 1;
}

/// The real address; host addresses are unchanged.
template <class T>
T* anywhere(T* address) {
  return is_behind_wall(address) ? reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) & ~wall) : address;
}

/// Arguments of kernels must be isolated addresses.
template <class T>
T* real(T* address) {
  if (!is_behind_wall(address)) throw std::logic_error("a kernel of the isolated device was given host memory");
  return anywhere(address);
}

template <class T>
std::span<T> real(T* address, std::size_t count) {
  if (count == 0) return {};
  return {real(address), count};
}

template <class T>
std::span<T> real(std::span<T> memory) {
  return real(memory.data(), memory.size());
}

template <class Float>
LstmWeightsOf<Float> real(const LstmWeightsOf<Float>& weights) {
  return {real(weights.recurrent), real(weights.peepholes), real(weights.projection)};
}

LstmMemory real(const LstmMemory& memory) { return {real(memory.gates), real(memory.cells), real(memory.hidden)}; }

/// Number of elements spanned by a strided matrix of copy_columns.
std::size_t extent(std::size_t rows, std::size_t columns, std::size_t width) {
  return rows == 0 ? 0 : (rows - 1) * width + columns;
}

/// There is one queue: following it means to wait for all of it at once.
class IsolatedCopyStream final : public CopyStream {
 public:
  explicit IsolatedCopyStream(Device& device) : device_(device) {}
  void follow() override { device_.finish(); }

 private:
  void do_bring(std::size_t bytes, const std::byte* from, std::byte* to) override { std::memcpy(real(to), from, bytes); }

  Device& device_;
};

/// The device cpu with the restrictions of a GPU: the host cannot access its memory, and nothing is computed before the host
/// waits for it. A missing transfer faults, a missing wait yields zeros.
class IsolatedDevice final : public Device {
 public:
  std::string_view name() const override { return "isolated"; }

  core::Arena allocate(std::size_t count) const override {
    float* const memory = core::host_arena(count).let_go();
    if (memory == nullptr) return {};
    return {reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(memory) | wall), count,
            [](float* data, std::size_t size) { core::release_host_memory(anywhere(data), size); }};
  }

  bool is_host() const override { return false; }
  bool is_isolated(const void* address) const override { return is_behind_wall(address); }

  std::unique_ptr<CopyStream> make_copy_stream() override { return std::make_unique<IsolatedCopyStream>(*this); }

  void finish() override {
    for (const auto& call : std::exchange(calls_, {})) call(*cpu_);
  }

 private:
  using Call = std::function<void(Device& cpu)>;

  void later(Call call) { calls_.push_back(std::move(call)); }

  void do_transfer(std::size_t bytes, const std::byte* from, std::byte* to) override {
    finish();
    std::memcpy(anywhere(to), anywhere(from), bytes);
  }

  void do_upload(std::size_t bytes, const std::byte* from, std::byte* to) override {
    later([content = std::vector<std::byte>(from, from + bytes), to](Device&) {
      std::memcpy(real(to), content.data(), content.size());
    });
  }

  void do_decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
                 std::span<const std::uint32_t> windows, std::size_t width, float* features) override {
    later([=](Device& cpu) {
      cpu.decode(encoding, frame_dim, real(stored), real(windows), real(features, windows.size() * width));
    });
  }
  void do_gemm(Transpose ta, Transpose tb, std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b,
               float keep, float* c) override {
    later([=](Device& cpu) { cpu.gemm(ta, tb, m, n, k, real(a, m * k), real(b, k * n), keep, real(c, m * n)); });
  }
  void do_affine_forward(std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* w,
                         const float* bias, Activation f, float* y) override {
    later([=](Device& cpu) {
      cpu.affine_forward(batch, in, out, real(x, batch * in), real(w, in * out), real(bias, out), f, real(y, batch * out));
    });
  }
  void do_affine_backward_input(std::size_t batch, std::size_t in, std::size_t out, const float* dz, const float* w,
                                const float* x, Activation f, float* dx) override {
    later([=](Device& cpu) {
      cpu.affine_backward_input(batch, in, out, real(dz, batch * out), real(w, in * out), real(x, batch * in), f,
                                real(dx, batch * in));
    });
  }
  void do_affine_backward_weights(std::size_t batch, std::size_t in, std::size_t out, std::size_t first_row,
                                  std::size_t rows, const float* x, const float* dz, float keep, float* dw) override {
    later([=](Device& cpu) {
      cpu.affine_backward_weights(batch, in, out, first_row, rows, real(x, batch * in), real(dz, batch * out), keep,
                                  real(dw, rows * out));
    });
  }
  void do_affine_descend(std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* dz, float keep,
                         float rate, float decay, float* d, float* w) override {
    later([=](Device& cpu) {
      cpu.affine_descend(batch, in, out, real(x, batch * in), real(dz, batch * out), keep, rate, decay, real(d, in * out),
                         real(w, in * out));
    });
  }
  void do_affine_reverse(std::size_t batch, std::size_t in, std::size_t out, const float* y, const float* w,
                         const float* bias, Activation f, float* x) override {
    later([=](Device& cpu) {
      cpu.affine_reverse(batch, in, out, real(y, batch * out), real(w, in * out), real(bias, in), f, real(x, batch * in));
    });
  }
  void do_lstm_forward(const LstmShape& shape, const Steps& steps, const LstmWeights& weights, const LstmMemory& memory,
                       float* y) override {
    later([=, active = host_copy(steps)](Device& cpu) {
      cpu.lstm_forward(shape, active, real(weights), real(memory), real(y, frames_of(active) * shape.output_width()));
    });
  }
  void do_lstm_backward(const LstmShape& shape, const Steps& steps, const LstmWeights& weights, const LstmMemory& memory,
                        float* dy) override {
    later([=, active = host_copy(steps)](Device& cpu) {
      cpu.lstm_backward(shape, active, real(weights), real(memory), real(dy, frames_of(active) * shape.output_width()));
    });
  }
  void do_lstm_gradient(const LstmShape& shape, const Steps& steps, const float* y, const LstmMemory& memory,
                        const float* dy, float keep, const LstmGradients& gradients) override {
    later([=, active = host_copy(steps)](Device& cpu) {
      const std::size_t outputs = frames_of(active) * shape.output_width();
      cpu.lstm_gradient(shape, active, real(y, outputs), real(memory), real(dy, outputs), keep, real(gradients));
    });
  }
  void do_bias_gradient(std::size_t batch, std::size_t out, const float* dz, float keep, float* dbias) override {
    later([=](Device& cpu) { cpu.bias_gradient(batch, out, real(dz, batch * out), keep, real(dbias, out)); });
  }
  void do_activation_backward(Activation f, std::size_t count, const float* y, float* dz) override {
    later([=](Device& cpu) { cpu.activation_backward(f, real(y, count), real(dz, count)); });
  }
  void do_softmax_cross_entropy(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* logits,
                                LossSum* into) override {
    later([=](Device& cpu) {
      cpu.softmax_cross_entropy(batch, classes, real(labels, batch), real(logits, batch * classes), real(into));
    });
  }
  void do_squared_error(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* y,
                        LossSum* into) override {
    later(
        [=](Device& cpu) { cpu.squared_error(batch, classes, real(labels, batch), real(y, batch * classes), real(into)); });
  }
  void do_ctc(std::size_t classes, std::span<const std::uint32_t> active, const std::int32_t* labels, float* logits,
              LossSum* into) override {
    later([=, active = host_copy(Steps(active))](Device& cpu) {
      const std::size_t frames = frames_of(active);
      cpu.ctc(classes, active, real(labels, frames), real(logits, frames * classes), real(into));
    });
  }
  void do_fill(float value, std::size_t count, float* x) override {
    later([=](Device& cpu) { cpu.fill(value, real(x, count)); });
  }
  void do_copy(std::size_t count, const float* from, float* to) override {
    later([=](Device& cpu) { cpu.copy(real(from, count), real(to, count)); });
  }
  void do_copy_columns(std::size_t rows, std::size_t columns, std::size_t from_width, const float* from,
                       std::size_t to_width, float* to) override {
    later([=](Device& cpu) {
      cpu.copy_columns(rows, columns, from_width, real(from, extent(rows, columns, from_width)), to_width,
                       real(to, extent(rows, columns, to_width)));
    });
  }
  void do_scale(float factor, std::size_t count, float* x) override {
    later([=](Device& cpu) { cpu.scale(factor, real(x, count)); });
  }
  void do_add(std::size_t count, const float* from, float* to) override {
    later([=](Device& cpu) { cpu.add(real(from, count), real(to, count)); });
  }
  void do_clamp(float limit, std::size_t count, float* x) override {
    later([=](Device& cpu) { cpu.clamp(limit, real(x, count)); });
  }
  void do_limit_row_norms(std::size_t rows, std::size_t columns, float limit, float* w) override {
    later([=](Device& cpu) { cpu.limit_row_norms(rows, columns, limit, real(w, rows * columns)); });
  }
  void do_descend(float rate, float decay, std::size_t count, float* d, float* w) override {
    later([=](Device& cpu) { cpu.descend(rate, decay, real(d, count), real(w, count)); });
  }
  void do_momentum_update(float rate, float momentum, bool nesterov, float decay, std::size_t count, const float* g,
                          float* v, float* w) override {
    later([=](Device& cpu) {
      cpu.momentum_update(rate, momentum, nesterov, decay, real(g, count), real(v, count), real(w, count));
    });
  }
  void do_adam_update(const AdamStep& step, std::size_t count, const float* g, float* m, float* v, float* w) override {
    later([=](Device& cpu) { cpu.adam_update(step, real(g, count), real(m, count), real(v, count), real(w, count)); });
  }
  void do_block_filter(float momentum, float rate, float ahead_before, float ahead, std::size_t count, float* average,
                       float* w, float* delta) override {
    later([=](Device& cpu) {
      cpu.block_filter(momentum, rate, ahead_before, ahead, real(average, count), real(w, count), real(delta, count));
    });
  }
  void do_look_ahead(float ahead, std::size_t count, const float* w, const float* delta, float* to) override {
    later([=](Device& cpu) { cpu.look_ahead(ahead, real(w, count), real(delta, count), real(to, count)); });
  }
  void do_moment_filter(double past, double keep, bool of_squares, std::size_t count, float* moment, float* base) override {
    later([=](Device& cpu) { cpu.moment_filter(past, keep, of_squares, real(moment, count), real(base, count)); });
  }
  void do_quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const float* x, float* residual,
                   std::byte* packed) override {
    later([=](Device& cpu) {
      cpu.quantise(quantiser, rows, columns, real(x, rows * columns),
                   real(residual, residual == nullptr ? 0 : rows * columns),
                   real(packed, quantiser.packed_bytes(rows, columns)));
    });
  }
  void do_dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const std::byte* packed, float keep,
                     float* x) override {
    later([=](Device& cpu) {
      cpu.dequantise(quantiser, rows, columns, real(packed, quantiser.packed_bytes(rows, columns)), keep,
                     real(x, rows * columns));
    });
  }
  void do_select_largest(std::size_t keep, std::size_t count, const float* x, float* residual, std::byte* packed) override {
    later([=](Device& cpu) {
      cpu.select_largest(keep, real(x, count), real(residual, residual == nullptr ? 0 : count), real(packed, 8 * keep));
    });
  }
  void do_scatter_add(std::size_t pairs, const std::byte* packed, float keep, std::size_t count, float* x) override {
    later([=](Device& cpu) { cpu.scatter_add(real(packed, 8 * pairs), keep, real(x, count)); });
  }
  void do_orthonormalise(std::size_t rows, std::size_t rank, float* matrix) override {
    later([=](Device& cpu) { cpu.orthonormalise(rows, rank, real(matrix, rows * rank)); });
  }
  void do_add_squared_norm(double weight, std::size_t count, const float* x, double* into) override {
    later([=](Device& cpu) { cpu.add_squared_norm(weight, real(x, count), real(into)); });
  }
  void do_add_squared_distance(double weight, std::size_t count, const float* a, const float* b, double* into) override {
    later([=](Device& cpu) { cpu.add_squared_distance(weight, real(a, count), real(b, count), real(into)); });
  }
  void do_add_dot(double weight, std::size_t count, const float* a, const float* b, double* into) override {
    later([=](Device& cpu) { cpu.add_dot(weight, real(a, count), real(b, count), real(into)); });
  }
  void do_add_softplus_sum(double weight, std::size_t count, const float* x, double* into) override {
    later([=](Device& cpu) { cpu.add_softplus_sum(weight, real(x, count), real(into)); });
  }
  void do_sample_bernoulli(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                           const float* p, float* y) override {
    later([=](Device& cpu) {
      const std::size_t count = rows.size() * units;
      cpu.sample_bernoulli(random, real(rows), units, real(p, count), real(y, count));
    });
  }
  void do_sample_normal(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                        const float* mean, float* y) override {
    later([=](Device& cpu) {
      const std::size_t count = rows.size() * units;
      cpu.sample_normal(random, real(rows), units, real(mean, count), real(y, count));
    });
  }

  static std::vector<std::uint32_t> host_copy(const Steps& steps) { return {steps.active().begin(), steps.active().end()}; }
  static std::size_t frames_of(const std::vector<std::uint32_t>& active) { return Steps(active).frames(); }

  std::unique_ptr<Device> cpu_ = make_device("cpu");
  std::vector<Call> calls_;  // not yet executed
};

}  // namespace

std::unique_ptr<Device> make_isolated(std::string_view) { return std::make_unique<IsolatedDevice>(); }

}  // namespace paragrad::backend
