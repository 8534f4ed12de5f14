#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "backend/all_kernels.hpp"
#include "backend/backend_info.hpp"
#include "backend/kernels/activate.hpp"
#include "backend/kernels/activation_backward.hpp"
#include "backend/kernels/activation_gradient.hpp"
#include "backend/kernels/adam_update.hpp"
#include "backend/kernels/add.hpp"
#include "backend/kernels/add_columns.hpp"
#include "backend/kernels/affine.hpp"
#include "backend/kernels/attention.hpp"
#include "backend/kernels/bias_gradient.hpp"
#include "backend/kernels/block_filter.hpp"
#include "backend/kernels/clamp.hpp"
#include "backend/kernels/concatenate.hpp"
#include "backend/kernels/convolution.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/embedding.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/gemm.hpp"
#include "backend/kernels/group_norm.hpp"
#include "backend/kernels/limit_row_norms.hpp"
#include "backend/kernels/look_ahead.hpp"
#include "backend/kernels/lrn.hpp"
#include "backend/kernels/lstm.hpp"
#include "backend/kernels/moment_filter.hpp"
#include "backend/kernels/momentum_update.hpp"
#include "backend/kernels/move_towards.hpp"
#include "backend/kernels/multiply.hpp"
#include "backend/kernels/orthonormalise.hpp"
#include "backend/kernels/pool.hpp"
#include "backend/kernels/positions.hpp"
#include "backend/kernels/quantise.hpp"
#include "backend/kernels/rotate.hpp"
#include "backend/kernels/row_norm.hpp"
#include "backend/kernels/sampling.hpp"
#include "backend/kernels/scale.hpp"
#include "backend/kernels/select.hpp"
#include "catch.hpp"
#include "core/errors.hpp"
#include "core/options.hpp"
#include "tests/backend/sums.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

template <class Rule>
void run_rule(Device& device, std::span<const float> g, std::span<float> w, std::span<float> first,
              std::span<float> second) {
  constexpr std::size_t arrays = RuleUpdate<Rule>::arrays;
  device.run(RuleUpdate<Rule>{{0.1, 0.5, 0.01, Rule::defaults},
                              g,
                              w,
                              first.first(arrays > 0 ? w.size() : 0),
                              second.first(arrays > 1 ? w.size() : 0)});
}

/// Every kernel once, with and without the options that change its work.
/// Those of operations between layers, on arrays of 50.
void run_graph_kernels(Device& device, std::span<float> a, std::span<float> b, std::span<float> c, std::span<float> d) {
  const DeviceArray<std::uint32_t> rows(device, 5);
  const ChannelShape shape{10, 5};
  device.run(Activate{Activation::tanh, a, b});
  device.run(ActivationGradient{Activation::tanh, a, b, 0, c});
  device.run(Sum{Activation::relu, a, b, c});
  device.run(SumBackward{a, 0, b, 1, c});
  device.run(AddColumns{2, 1, 2, std::span<const float>(a).first(3), 1, b.first(2)});
  device.run(Dropout{core::RandomStream(1, core::Purpose::dropout), rows.span(), 10, 0, 0.5, a, 0, b});
  device.run(
      BatchNormForward{shape, true, 1e-3f, 0.1f, Activation::relu, a, c.first(10), c.subspan(10, 10), c.subspan(20, 10), b});
  device.run(BatchNormBackward{shape, a, c.first(10), c.subspan(20, 10), b, 0, c.subspan(30, 10), 0, a});
  device.run(Augment{core::RandomStream(1, core::Purpose::augmentation), rows.span(), 2, 1, 5, {1, true, 1}, a, b});
  const std::span<float> all = d.first(2 * statistics_size(5));
  device.run(BatchMoments{shape, a, all.first(statistics_size(5))});
  device.run(CombineMoments{2, 5, 0.1f, all, c.first(10), c.subspan(20, 10)});
  device.run(BatchNormSums{shape, a, c.subspan(20, 10), b, 0, c.subspan(30, 10), all.first(statistics_size(5))});
  device.run(SyncBatchNormBackward{shape, 2, a, c.first(10), c.subspan(20, 10), all, b, 0, a});
  const GroupShape grouped{2, 5, 4, 2};
  device.run(GroupNormForward{grouped, 1e-3f, Activation::relu, a.first(40), c.first(8), c.subspan(8, 8), b.first(40)});
  device.run(GroupNormBackward{grouped, a.first(40), c.first(8), c.subspan(8, 8), b.first(40), 0, d.first(40)});
  device.run(GroupNormGradient{grouped, a.first(40), c.subspan(8, 8), b.first(40), 0, c.first(8)});
  const RowNormShape normalised{5, 8, true, true};
  device.run(RowNormForward{normalised, 1e-3f, a.first(40), c.first(16), c.subspan(16, 10), b.first(40)});
  device.run(RowNormBackward{normalised, a.first(40), c.first(16), c.subspan(16, 10), b.first(40), 0, d.first(40)});
  device.run(RowNormGradient{normalised, a.first(40), c.subspan(16, 10), b.first(40), 0, c.first(16)});
  const DeviceArray<std::int32_t> tokens(device, 5);
  device.run(EmbeddingForward{10, tokens.span(), a, b});
  device.run(PlaceRows{10, tokens.span().first(1), a.first(10), b});
  for (const float keep : {0.f, 1.f}) device.run(EmbeddingGradient{10, tokens.span(), b, keep, a});
  device.run(AddPositions{{1, 5}, 10, a, b, c});
  device.run(PositionsGradient{{1, 5}, 10, a, 0, b});
  const AttentionShape attention{{2, 3}, 2, 1};
  device.run(AttentionForward{attention, a.first(36), b.first(12), c.first(12)});
  device.run(AttentionBackward{attention, a.first(36), b.first(12), c.first(12), c.subspan(12, 12), 0, d.first(36)});
  for (const float keep : {0.f, 1.f}) device.run(Rotate{{2, 3}, 1, 2, 100, keep > 0, a.first(36), keep, b.first(36)});
  for (const float keep : {0.f, 1.f}) device.run(Multiply{a, b, keep, c});
  device.run(LrnForward{{10, 5, 3}, 0.5f, 0.75f, 1, a, b, c});
  device.run(LrnBackward{{10, 5, 3}, 0.5f, 0.75f, a, b, c, d, 0, d});
  const SideBySide both{10, 2, {{3, 2}}};
  device.run(Concatenate{both, {{a.first(30), b.first(20)}}, c});
  device.run(ConcatenateBackward{both, c, {}, {}, {}, {{a.first(30), b.first(20)}}});
  const WindowSteps steps{5, 1, 5};
  const ConvolutionShape images{1, 2, 2, steps, steps};
  device.run(ConvolutionForward{images, a, b.first(4), {}, Activation::identity, c});
  device.run(ConvolutionBackwardInput{images, c, b.first(4), 0, Activation::tanh, a, a});
  device.run(ConvolutionBackwardWeights{images, a, c, 0, b.first(6)});
  const PoolShape pool{1, 2, steps, steps};
  device.run(MaxPool{pool, a, b, c});
  device.run(MaxPoolBackward{pool, b, c, 0, Activation::identity, {}, a});
  device.run(MeanPool{pool, a, b});
  device.run(MeanPoolBackward{pool, b, 1, Activation::identity, {}, a});
  device.finish();  // before its memory goes
}

void run_every_kernel(Device& device) {
  const std::size_t batch = 4, in = 6, out = 5;
  core::Arena memory = device.allocate(1000);
  std::size_t used = 0;
  const auto take = [&](std::size_t count) {
    used += count;
    return memory.span().subspan(used - count, count);
  };
  const auto x = take(batch * in), w = take(in * out), bias = take(out), y = take(batch * out), dx = take(batch * in);
  const auto a = take(50), b = take(50), c = take(50), d = take(50);
  const std::vector<std::int32_t> said{0, 3, 2, -1};
  const DeviceArray<std::int32_t> zeros(device, batch), labels = on_device(device, std::span(said));
  device.run(Gemm{Transpose::no, Transpose::no, batch, out, in, x, w, 0, y});
  device.run(AffineForward{batch, in, out, x, w, bias, Activation::tanh, y});
  device.run(AffineBackwardInput{batch, in, out, y, w, x, Activation::tanh, dx});
  device.run(AffineBackwardWeights{batch, in, out, 1, 2, x, y, 0.5f, w.first(2 * out)});
  device.run(AffineReverse{batch, in, out, y, w, x.first(in), Activation::sigmoid, dx});
  for (const bool projected : {false, true}) {
    const LstmShape shape{
        .cells = 3, .outputs = projected ? 2u : 3u, .directions = 2, .peepholes = projected, .projected = projected};
    const std::vector<std::uint32_t> active{2, 1};
    core::Arena more = device.allocate(1000);
    std::size_t taken = 0;
    const auto next = [&](std::size_t count) {
      taken += count;
      return more.span().subspan(taken - count, count);
    };
    const LstmGradients weights{next(shape.recurrent_size()), next(shape.peephole_size()), next(shape.projection_size())};
    const LstmWeights read{weights.recurrent, weights.peepholes, weights.projection};
    const LstmMemory kept{next(3 * shape.gate_width()), next(3 * shape.cell_width()), next(3 * shape.hidden_width())};
    const auto outputs = next(3 * shape.output_width()), slopes = next(3 * shape.output_width());
    device.run(LstmForward{shape, Steps(active), read, kept, outputs});
    device.run(LstmBackward{shape, Steps(active), read, kept, slopes});
    device.run(LstmGradient{shape, Steps(active), outputs, kept, slopes, 0, weights});
    device.finish();  // before its memory goes
  }
  device.run(BiasGradient{batch, out, y, 0, bias});
  device.run(ActivationBackward{Activation::relu, a, b});
  softmax_cross_entropy(device, batch, out, zeros.span(), y);
  squared_error(device, batch, out, zeros.span(), y);
  focal_loss(device, batch, out, zeros.span(), y, 2);
  ctc(device, out, std::vector<std::uint32_t>{2, 1, 1}, labels.span(), y);
  device.run(Fill{1, a});
  device.run(Copy{a, b});
  device.run(CopyColumns{2, 1, 2, std::span<const float>(a).first(3), 1, std::span<float>(b).first(2)});
  device.run(Scale{2, a});
  device.run(Add{a, b});
  device.run(AddCodes{Code::fp16, a, b});
  device.run(Clamp{0.5f, a});
  device.run(LimitRowNorms{10, 5, 0.5f, a});
  for (const float decay : {0.f, 0.1f}) {
    device.run(Descend{0.1f, decay, a, b});
    for (const bool nesterov : {false, true}) device.run(MomentumUpdate{0.1f, 0.9f, nesterov, decay, a, b, c});
  }
  device.run(AdamUpdate{{.rate = 0.1, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}, a, b, c, d});
#define UPDATE_RULE(name, Rule, rate, summary, source) run_rule<Rule>(device, a, b, c, d);
#include "backend/update_rules.def"
#undef UPDATE_RULE
  device.run(BlockFilter{0.9f, 1, 0, 0.9f, a, b, c});
  device.run(LookAhead{0.9f, a, b, c});
  device.run(MoveTowards{0.1f, a, b});
  device.run(MomentFilter{0.9, 0.8, true, a, b});
  const Quantiser quantiser;
  const auto packed = std::as_writable_bytes(take(10).first(quantiser.packed_bytes(10, 5) / sizeof(float)));
  for (const bool remember : {false, true}) device.run(Quantise{quantiser, 10, 5, a, remember ? b : b.first(0), packed});
  for (const float keep : {0.f, 1.f}) device.run(Dequantise{quantiser, 10, 5, packed, keep, c});
  const auto pairs = std::as_writable_bytes(take(10));
  for (const bool remember : {false, true}) device.run(SelectLargest{5, a, remember ? b : b.first(0), pairs});
  for (const float keep : {0.f, 1.f}) device.run(ScatterAdd{pairs, keep, c});
  for (const bool coded : {false, true}) {
    const ChunkFormat format{3, 8, coded};
    const auto chunks = std::as_writable_bytes(take(30)).first(format.packed_bytes(a.size()));
    for (const bool remember : {false, true}) device.run(EncodeChunks{format, a, remember ? b : b.first(0), chunks});
    for (const float keep : {0.f, 1.f}) device.run(DecodeChunks{format, chunks, keep, c});
  }
  device.run(Orthonormalise{10, 5, c});
  device.squared_norm(c);
  squared_distance(device, a, b);
  dot(device, a, b);
  softplus_sum(device, a);
  const core::RandomStream random(1, core::Purpose::generator);
  const DeviceArray<std::uint32_t> rows(device, 5);
  device.run(SampleBernoulli{random, rows.span(), 10, a, b});
  device.run(SampleNormal{random, rows.span(), 10, a, b});
  run_graph_kernels(device, a, b, c, d);
}

}  // namespace

TEST_CASE("every device counts the same work for the same calls", "[backend]") {
  const auto reference = make_device("reference");
  run_every_kernel(*reference);
  for (const char* name : {"meta", "cpu", "isolated"}) {
    const auto device = make_device(name);
    run_every_kernel(*device);
    CHECK(device->meter() == reference->meter());
  }
}

TEST_CASE("work is counted as 2mnk flops of a matrix product and as bytes of a stream", "[backend]") {
  const auto device = make_device("meta");
  const core::Arena a = device->allocate(6), b = device->allocate(12);
  core::Arena c = device->allocate(8);
  device->run(Gemm{Transpose::no, Transpose::yes, 2, 4, 3, a.span(), b.span(), 0, c.span()});
  CHECK(device->meter().of(KernelKind::gemm) == Work{1, 48, 4 * (6 + 12 + 8)});
  device->run(Copy{b.span().first(8), c.span()});
  device->run(Descend{0.1f, 0, c.span(), c.span()});
  CHECK(device->meter().of(KernelKind::streaming) == Work{2, 16, 64 + 96});
}

TEST_CASE("a device charges every call once, by its kernel and its size", "[backend]") {
  struct Times : CallTimes {
    mutable std::array<std::uint64_t, kernel_count> calls{};
    std::uint64_t picoseconds(KernelId kernel, const CallSize& size, const WorkMeter& work) const override {
      const Work& products = work.of(KernelKind::gemm);
      CHECK((products.calls == 1) == (kernel_kind(kernel) == KernelKind::gemm));
      if (products.calls == 1) {
        const std::uint64_t of_one_size = kernel == KernelId::attention_forward    ? 2
                                          : kernel == KernelId::attention_backward ? 5
                                                                                   : 1;
        CHECK(products.flops == 2 * of_one_size * size[0] * size[1] * size[2]);
      } else {
        CHECK(size == CallSize{static_cast<std::uint64_t>(work.of(KernelKind::streaming).bytes), 1, 1});
      }
      calls[static_cast<std::size_t>(kernel)] += 1;
      return 1 + static_cast<std::uint64_t>(kernel);
    }
  };
  const auto device = make_device("meta");
  const auto times = std::make_shared<Times>();
  device->charge_by(times);
  run_every_kernel(*device);
  std::uint64_t charged_ps = 0;
  for (std::size_t k = 0; k < kernel_count; ++k) {
    const auto kernel = static_cast<KernelId>(k);
    CAPTURE(kernel_name(kernel));
    CHECK(find_kernel(kernel_name(kernel)) == kernel);
    const auto with_option = {KernelId::descend,        KernelId::quantise,      KernelId::dequantise,
                              KernelId::select_largest, KernelId::scatter_add,   KernelId::lstm_forward,
                              KernelId::lstm_backward,  KernelId::lstm_gradient, KernelId::embedding_gradient,
                              KernelId::multiply,       KernelId::rotate};
    const bool has_option = std::find(with_option.begin(), with_option.end(), kernel) != with_option.end();
    const auto with_two = {KernelId::momentum_update, KernelId::encode_chunks, KernelId::decode_chunks};
    const bool has_two = std::find(with_two.begin(), with_two.end(), kernel) != with_two.end();
    const std::uint64_t more = has_two ? 3 : has_option ? 1 : 0;
    if (kernel != KernelId::affine_descend) CHECK(times->calls[k] == 1 + more);
    charged_ps += times->calls[k] * (1 + k);
  }
  CHECK(device->meter().charged_ps() == charged_ps);
  CHECK_FALSE(find_kernel("no kernel"));
}

TEST_CASE("the meta device reserves more than any memory holds and computes no loss", "[backend]") {
  const auto device = make_device("meta");
  const std::size_t four_terabytes = std::size_t{1} << 40;
  core::Arena arena = device->allocate(four_terabytes);
  REQUIRE(arena.size() == four_terabytes);
  device->run(Fill{1, arena.span()});
  const DeviceArray<std::int32_t> labels(*device, 2);
  const LossSum loss = softmax_cross_entropy(*device, 2, 8, labels.span(), arena.span().first(16));
  CHECK(loss.loss == 0);
  CHECK(loss.errors == 0);
  CHECK(device->allocate(0).size() == 0);
  CHECK_FALSE(device->computes());
}

TEST_CASE("touching memory that is not the host's faults", "[backend]") {
  const auto device = make_device(GENERATE("meta", "isolated"));
  core::Arena arena = device->allocate(1);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    *static_cast<volatile float*>(arena.span().data()) = 1;
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("devices allocate zeros", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  CHECK(device->computes());
  const core::Arena arena = device->allocate(1000);
  for (const float value : arena.span()) REQUIRE(value == 0);
}

TEST_CASE("an unknown device is refused with the known ones named", "[backend]") {
  REQUIRE_THROWS_AS(make_device("gpu"), core::ConfigError);
  REQUIRE_THROWS_WITH(make_device("gpu"),
                      contains_text("device 'gpu'") && contains_text("reference, cpu, cuda[:tf32|bf16], isolated, meta"));
  REQUIRE_THROWS_AS(make_device(""), core::ConfigError);
}

TEST_CASE("every name of the catalogue makes the device of that name or says that it is not built", "[backend]") {
  for (const core::EntryInfo& entry : device_catalogue().entries) {
    const std::string& name = entry.name;
    CHECK_FALSE(entry.summary.empty());
    try {
      const auto device = make_device(name);
      CHECK(device->name() == name);
    } catch (const core::ConfigError& error) {
      CHECK(name == "cuda");
      CHECK_THAT(error.what(), contains_text("cuda"));
    }
  }
}

TEST_CASE("the description of the matrix products names library and kernels", "[backend]") {
  CHECK_THAT(blas_description(), contains_text("OpenBLAS") && contains_text("core ") && contains_text("own kernels"));
}

TEST_CASE("devices in concurrent threads give the bits of one alone", "[backend]") {
  const std::size_t batch = 33, in = 200, out = 70;
  const auto x = random_numbers(batch * in, 1), w = random_numbers(in * out, 2), bias = random_numbers(out, 3);
  const auto compute = [&](std::vector<float>& results) {
    const auto device = make_device("cpu");
    std::vector<float> y(batch * out), dx(batch * in), dw(in * out), c(batch * out);
    device->run(AffineForward{batch, in, out, x, w, bias, Activation::tanh, y});
    device->run(AffineBackwardInput{batch, in, out, y, w, x, Activation::tanh, dx});
    device->run(AffineBackwardWeights{batch, in, out, 0, in, x, y, 0, dw});
    device->run(Gemm{Transpose::no, Transpose::no, batch, out, in, x, w, 0, c});
    for (const auto& part : {y, dx, dw, c}) results.insert(results.end(), part.begin(), part.end());
  };
  std::vector<std::vector<float>> results(5);
  compute(results[0]);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < results.size(); ++i) threads.emplace_back([&, i] { compute(results[i]); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) CHECK(same_bits(result, results[0]));
}
