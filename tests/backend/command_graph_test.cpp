// Calls that are put off and launched as recorded graphs: nothing of it may be seen but how often the host had to call.
#include "backend/gpu_kernels/command_graph.hpp"

#include <random>

#include "backend/gpu_kernels/ends.hpp"
#include "backend/kernels/add.hpp"
#include "backend/kernels/affine.hpp"
#include "backend/kernels/bias_gradient.hpp"
#include "backend/kernels/clamp.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/gemm.hpp"
#include "backend/kernels/losses.hpp"
#include "backend/kernels/lstm.hpp"
#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "tests/backend/gpu.hpp"
#include "tests/backend/host_gpu.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

template <class Kernel>
void run_bytes(const std::byte* bytes) {
  alignas(Kernel) std::byte kernel[sizeof(Kernel)];
  std::memcpy(kernel, bytes, sizeof(Kernel));
  gpu_kernels::run_on_host(*reinterpret_cast<const Kernel*>(kernel));
}

struct Counts {
  std::size_t single = 0, recorded = 0, changed = 0, launched = 0;
};

/// Makes calls on the host. A recording keeps what it was given, as a GPU does: what nobody changes stays as it was. Of the
/// calls that it may make, it makes any.
class HostExecutor final : public gpu_kernels::Executor {
 public:
  explicit HostExecutor(Counts& counts) : counts_(counts) {}

  void execute(const gpu_kernels::Call& call) override {
    ++counts_.single;
    make(call);
  }

  std::unique_ptr<gpu_kernels::CommandGraph> record(std::span<const gpu_kernels::Call> calls) override {
    ++counts_.recorded;
    return std::make_unique<HostRecording>(counts_, std::vector<gpu_kernels::Call>(calls.begin(), calls.end()));
  }

 private:
  static void make(const gpu_kernels::Call& call) {
    if (const auto* launch = std::get_if<gpu_kernels::Launch>(&call))
      reinterpret_cast<void (*)(const std::byte*)>(launch->function)(launch->kernel.data());
    if (const auto* product = std::get_if<gpu_kernels::Multiplication>(&call)) HostRuntime(false).multiply(*product);
  }

  struct HostRecording final : gpu_kernels::CommandGraph {
    HostRecording(Counts& counts_of, std::vector<gpu_kernels::Call> all) : counts(counts_of), calls(std::move(all)) {
      gpu_kernels::Ends<std::size_t> ends;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        before.emplace_back(ends.before().begin(), ends.before().end());
        if (const auto* mark = std::get_if<gpu_kernels::Mark>(&calls[i]))
          ends.pass(*mark);
        else
          ends.add(i);
      }
    }
    void change(std::size_t call, const gpu_kernels::Launch& launch) override {
      ++counts.changed;
      calls.at(call) = launch;
    }
    void launch() override {
      ++counts.launched;
      std::vector<bool> done(calls.size());
      for (std::size_t made = 0; made < calls.size(); ++made) {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < calls.size(); ++i)
          if (!done[i] && std::ranges::all_of(before[i], [&](std::size_t other) { return done[other]; })) ready.push_back(i);
        const std::size_t chosen = ready[random() % ready.size()];
        make(calls[chosen]);
        done[chosen] = true;
      }
    }
    Counts& counts;
    std::vector<gpu_kernels::Call> calls;
    std::vector<std::vector<std::size_t>> before;  // of each call those that it waits for
    std::mt19937 random{1};
  };

  Counts& counts_;
};

class QueuedRuntime {
 public:
  static constexpr std::size_t most_patches = HostRuntime::most_patches;

  explicit QueuedRuntime(Counts& counts) : executor_(counts) {}
  std::string_view name() const { return "host gpu, queued"; }
  core::Arena allocate(std::size_t count) const { return core::host_arena(count); }
  bool is_host() const { return true; }
  bool is_isolated(const void*) const { return false; }
  bool is_cuda() const { return false; }
  std::string hardware() const { return ""; }
  core::Arena allocate_on_host(std::size_t count) const { return allocate(count); }
  void submit() { queue_.submit(); }
  void finish() { submit(); }
  std::unique_ptr<CopyStream> make_copy_stream(Device&) { return nullptr; }
  std::unique_ptr<DeviceAllreduce> make_allreduce(Device&) { return nullptr; }
  void transfer(std::size_t bytes, const std::byte* from, std::byte* to) {
    finish();
    std::memcpy(to, from, bytes);
  }
  void upload(std::size_t bytes, const std::byte* from, std::byte* to) { transfer(bytes, from, to); }

  template <class Kernel>
  void run(const Kernel& kernel) {
    queue_.add(gpu_kernels::Launch::of(kernel, reinterpret_cast<const void*>(&run_bytes<Kernel>)));
  }
  void multiply(const gpu_kernels::Multiplication& product) { queue_.add(product); }
  bool uses_tensor_cores() const { return false; }
  bool wants_padded(const gpu_kernels::Multiplication&) const { return false; }
  bool has_convolutions() const { return false; }
  bool can_run(const gpu_kernels::PackedConvolution&) const { return false; }
  void convolve(const gpu_kernels::PackedConvolution& convolution) { queue_.add(convolution); }

  template <class Branch>
  void side_by_side(std::size_t count, const Branch& branch) {
    queue_.side_by_side(count, branch);
  }

 private:
  HostExecutor executor_;
  gpu_kernels::CommandQueue queue_{executor_};
};

using Queued = gpu_kernels::GpuDevice<QueuedRuntime>;

/// Weights of a network 7-5-4 and the losses on the way, after so many steps on samples of their own; the rate falls half
/// way. one_by_one: the device is waited for after each call, so that it has nothing to record.
std::vector<float> trained(Device& device, int steps, bool one_by_one = false) {
  constexpr std::size_t batch = 6, in = 7, hidden = 5, out = 4, parameters = in * hidden + hidden + hidden * out + out;
  const std::size_t samples = batch * static_cast<std::size_t>(steps);
  const auto put = [&](const std::vector<float>& values) { return on_device(device, std::span<const float>(values)); };
  auto w = put(random_numbers(parameters, 1)), stored = put(random_numbers(in * samples, 2));
  std::vector<std::int32_t> classes;
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < samples; ++i) {
    classes.push_back(static_cast<std::int32_t>(i % out));
    order.push_back(static_cast<std::uint32_t>(samples - 1 - i));
  }
  const auto labels = on_device(device, std::span<const std::int32_t>(classes));
  const auto windows = on_device(device, std::span<const std::uint32_t>(order));
  DeviceArray<LossSum> losses(device, static_cast<std::size_t>(steps));
  DeviceArray<float> x(device, batch * in), y(device, batch * hidden), z(device, batch * out), dy(device, batch * hidden),
      g(device, parameters);
  const auto w1 = w.span().first(in * hidden), b1 = w.span().subspan(in * hidden, hidden),
             w2 = w.span().subspan(in * hidden + hidden, hidden * out), b2 = w.span().last(out);
  const auto g1 = g.span().first(in * hidden), c1 = g.span().subspan(in * hidden, hidden),
             g2 = g.span().subspan(in * hidden + hidden, hidden * out), c2 = g.span().last(out);
  const auto called = [&] {
    if (one_by_one) device.finish();
  };
  for (int step = 0; step < steps; ++step) {
    const std::size_t first = batch * static_cast<std::size_t>(step);
    device.decode({}, in, std::as_bytes(stored.span()), windows.span().subspan(first, batch), x.span());
    called();
    device.run(AffineForward{batch, in, hidden, x.span(), w1, b1, Activation::tanh, y.span()});
    called();
    device.run(AffineForward{batch, hidden, out, y.span(), w2, b2, Activation::identity, z.span()});
    called();
    device.run(SoftmaxCrossEntropy{batch, out, labels.span().subspan(first, batch), z.span(), losses.data() + step});
    called();
    device.run(AffineBackwardWeights{batch, hidden, out, 0, hidden, y.span(), z.span(), 0, g2});
    called();
    device.run(BiasGradient{batch, out, z.span(), 0, c2});
    called();
    device.run(AffineBackwardInput{batch, hidden, out, z.span(), w2, y.span(), Activation::tanh, dy.span()});
    called();
    device.run(AffineBackwardWeights{batch, in, hidden, 0, in, x.span(), dy.span(), 0, g1});
    called();
    device.run(BiasGradient{batch, hidden, dy.span(), 0, c1});
    called();
    device.run(Descend{step < steps / 2 ? 0.5f : 0.25f, 0, g.span(), w.span()});
    called();
    device.submit();
  }
  std::vector<float> result(parameters);
  device.transfer(std::span<const float>(w.span()), std::span(result));
  for (int step = 0; step < steps; ++step) result.push_back(static_cast<float>(value_at(device, losses.data() + step).loss));
  return result;
}

}  // namespace

TEST_CASE("steps launched as a recorded graph end in the same bits, and only what differs is changed in it", "[backend]") {
  HostGpu plain(false);
  Counts counts;
  Queued queued(counts);
  CHECK(same_bits(trained(queued, 40), trained(plain, 40)));
  CHECK(counts.recorded == 1);
  CHECK(counts.launched == 38);  // in the first step scratch memory is made, and that waits; the second is met first
  // Where samples and labels lie, and the loss, which two kernels add up; then the rate, once.
  CHECK(counts.changed >= 3 * 37 + 1);
  CHECK(counts.changed < 5 * 37);  // a few more, where bytes between a kernel's members differ
}

TEST_CASE("a call waits for its own branch, and behind a join for all of them", "[backend]") {
  gpu_kernels::Ends<int> ends;
  const auto before = [&] { return std::vector<int>(ends.before().begin(), ends.before().end()); };
  CHECK(before().empty());
  ends.add(1);
  ends.pass(gpu_kernels::Mark::fork);
  CHECK(before() == std::vector{1});
  ends.add(2);
  ends.add(3);
  CHECK(before() == std::vector{3});
  ends.pass(gpu_kernels::Mark::next);
  CHECK(before() == std::vector{1});
  ends.add(4);
  ends.pass(gpu_kernels::Mark::next);  // and a branch without calls
  ends.pass(gpu_kernels::Mark::join);
  CHECK(before() == std::vector{3, 4, 1});
  ends.add(5);
  CHECK(before() == std::vector{5});
}

namespace {

/// What an LSTM's kernels make of the same memory, round after round. one_by_one: as above.
std::vector<float> lstm_rounds(Device& device, bool one_by_one = false) {
  const LstmShape shape{.cells = 5, .outputs = 3, .directions = 2, .peepholes = true, .projected = true};
  const std::vector<std::uint32_t> active{3, 3, 2, 1};
  constexpr std::size_t frames = 9;
  std::vector<core::Arena> arenas;
  std::uint32_t stream = 0;
  const auto put = [&](std::size_t count) {
    arenas.push_back(device.allocate(count));
    const auto numbers = random_numbers(count, ++stream);
    device.transfer(std::span<const float>(numbers), arenas.back().span());
    return arenas.back().span();
  };
  const auto recurrent = put(shape.recurrent_size()), peepholes = put(shape.peephole_size()),
             projection = put(shape.projection_size());
  const LstmGradients gradients{put(shape.recurrent_size()), put(shape.peephole_size()), put(shape.projection_size())};
  const LstmMemory memory{put(frames * shape.gate_width()), put(frames * shape.cell_width()),
                          put(frames * shape.cell_width())};
  const auto y = put(frames * shape.output_width());
  const auto called = [&] {
    if (one_by_one) device.finish();
  };
  for (int round = 0; round < 6; ++round) {
    device.run(LstmForward{shape, Steps(active), {recurrent, peepholes, projection}, memory, y});
    called();
    device.run(LstmBackward{shape, Steps(active), {recurrent, peepholes, projection}, memory, y});
    called();
    device.run(LstmGradient{shape, Steps(active), y, memory, y, 0.5f, gradients});
    called();
    device.run(Clamp{2, memory.gates});
    called();
    device.submit();
  }
  std::vector<float> all;
  for (const core::Arena& arena : arenas) {
    std::vector<float> values(arena.size());
    device.transfer(std::span<const float>(arena.span()), std::span(values));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace

TEST_CASE("the directions of an LSTM go side by side", "[backend]") {
  HostGpu plain(false);
  Counts counts;
  Queued queued(counts);
  CHECK(same_bits(lstm_rounds(queued), lstm_rounds(plain)));
  CHECK(counts.recorded == 1);
  CHECK(counts.launched >= 3);
}

TEST_CASE("any series of calls gives the same bits on queue, however they repeat", "[backend]") {
  HostGpu plain(false);
  Counts counts;
  Queued queued(counts);
  constexpr std::size_t n = 24;
  const auto start = random_numbers(3 * n, 1);
  std::vector<float> mine = start, expected = start;
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  // Some series, each of some kinds of calls on some arrays; what they are given is drawn anew each time.
  struct Step {
    std::uint32_t kind, from, to;
  };
  std::vector<std::vector<Step>> series(6);
  for (auto& one : series)
    for (std::uint32_t i = 0; i < 8 + below(6); ++i) one.push_back({below(5), below(3), below(3)});
  for (int round = 0; round < 300; ++round) {
    const auto& one = series[below(6)];
    const float factor = 0.5f + 0.1f * static_cast<float>(below(4));
    const auto length = 1 + below(n);
    for (auto [device, memory] : {std::pair<Device*, std::vector<float>*>(&plain, &mine), {&queued, &expected}}) {
      const auto array = [&](std::uint32_t i) { return std::span(*memory).subspan(i * n, n); };
      for (const Step& step : one) {
        if (step.kind == 0) device->run(Scale{factor, array(step.to)});
        if (step.kind == 1) device->run(Fill{factor, array(step.to).first(length)});
        if (step.kind == 2 && step.from != step.to) device->run(Add{array(step.from), array(step.to)});
        if (step.kind == 3 && step.from != step.to)
          device->run(Gemm{Transpose::no, Transpose::no, 4, 4, 4, array(step.from).first(16), array(step.from).last(16),
                           0.5f, array(step.to).first(16)});
        if (step.kind == 4) device->run(Clamp{factor, array(step.to)});
      }
      device->submit();
    }
    REQUIRE(same_bits(mine, expected));
  }
  CHECK(counts.recorded == 6);
  CHECK(counts.changed > 100);
}

TEST_CASE("on a GPU steps launched as graphs end in the bits of their calls one by one", "[gpu]") {
  for (const char* name : {"cuda", "cuda:tf32", "cuda:bf16"}) {
    const auto device = gpu_or_nothing(name);
    if (!device) return;
    CHECK(same_bits(trained(*device, 40), trained(*device, 40, true)));
    CHECK(same_bits(lstm_rounds(*device), lstm_rounds(*device, true)));
  }
}
