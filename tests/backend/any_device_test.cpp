// Every kernel of a device against the reference's, whatever memory the device has: what it reads is random, what it writes
// is poisoned before, and all of it is compared.
#include <functional>

#include "backend/device_array.hpp"
#include "backend/kernels/activation_backward.hpp"
#include "backend/kernels/adam_update.hpp"
#include "backend/kernels/add.hpp"
#include "backend/kernels/affine.hpp"
#include "backend/kernels/bias_gradient.hpp"
#include "backend/kernels/block_filter.hpp"
#include "backend/kernels/clamp.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "backend/kernels/ctc.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/dot.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/gemm.hpp"
#include "backend/kernels/limit_row_norms.hpp"
#include "backend/kernels/look_ahead.hpp"
#include "backend/kernels/losses.hpp"
#include "backend/kernels/lstm.hpp"
#include "backend/kernels/moment_filter.hpp"
#include "backend/kernels/momentum_update.hpp"
#include "backend/kernels/move_towards.hpp"
#include "backend/kernels/orthonormalise.hpp"
#include "backend/kernels/quantise.hpp"
#include "backend/kernels/sampling.hpp"
#include "backend/kernels/scale.hpp"
#include "backend/kernels/select.hpp"
#include "backend/kernels/softplus_sum.hpp"
#include "backend/kernels/squared_distance.hpp"
#include "backend/kernels/squared_norm.hpp"
#include "catch.hpp"
#include "core/format.hpp"
#include "sanitized.hpp"
#include "tests/backend/desk.hpp"
#include "tests/backend/gpu.hpp"
#include "tests/backend/graph_kernel_cases.hpp"
#include "tests/backend/host_gpu.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

std::vector<float> result_of(const Case& each, Device& device) {
  Desk desk(device);
  each.run(device, desk);
  return desk.read();
}

using enum Activation;
using enum Transpose;

void add_products(std::vector<Case>& cases, std::size_t batch, std::size_t in, std::size_t out) {
  const std::string size = core::format(" {}x{}x{}", batch, in, out);
  const auto add = [&](const std::string& name, std::function<void(Device&, Desk&)> run) {
    cases.push_back({name + size, std::move(run)});
  };
  for (const auto ta : {no, yes})
    for (const auto tb : {no, yes})
      for (const float keep : {0.f, 0.9f})
        add("gemm", [=](Device& device, Desk& desk) {
          const auto a = desk.in(batch * in), b = desk.in(in * out);
          device.run(Gemm{ta, tb, batch, out, in, a, b, keep, keep == 0 ? desk.out(batch * out) : desk.in(batch * out)});
        });
  for (const auto f : {identity, sigmoid, tanh, relu}) {
    add("affine_forward", [=](Device& device, Desk& desk) {
      const auto x = desk.in(batch * in), w = desk.in(in * out), bias = desk.in(out);
      device.run(AffineForward{batch, in, out, x, w, bias, f, desk.out(batch * out)});
    });
    add("affine_reverse", [=](Device& device, Desk& desk) {
      const auto y = desk.in(batch * out), w = desk.in(in * out), bias = desk.in(in);
      device.run(AffineReverse{batch, in, out, y, w, bias, f, desk.out(batch * in)});
    });
    add("affine_backward_input", [=](Device& device, Desk& desk) {
      const auto dz = desk.in(batch * out), w = desk.in(in * out), x = desk.positive(batch * in);
      device.run(AffineBackwardInput{batch, in, out, dz, w, x, f, desk.out(batch * in)});
    });
  }
  for (const float keep : {0.f, 0.9f}) {
    add("affine_backward_weights", [=](Device& device, Desk& desk) {
      const auto x = desk.in(batch * in), dz = desk.in(batch * out);
      const std::size_t first = in / 3, rows = in - first;
      device.run(AffineBackwardWeights{batch, in, out, first, rows, x, dz, keep,
                                       keep == 0 ? desk.out(rows * out) : desk.in(rows * out)});
    });
    add("affine_descend", [=](Device& device, Desk& desk) {
      const auto x = desk.in(batch * in), dz = desk.in(batch * out);
      const auto d = keep == 0 ? desk.out(in * out) : desk.in(in * out);
      device.run(AffineDescend{batch, in, out, x, dz, keep, 0.1f, 0.01f, d, desk.in(in * out)});
    });
    add("bias_gradient", [=](Device& device, Desk& desk) {
      const auto dz = desk.in(batch * out);
      device.run(BiasGradient{batch, out, dz, keep, keep == 0 ? desk.out(out) : desk.in(out)});
    });
  }
}

void add_losses(std::vector<Case>& cases, std::size_t batch, std::size_t classes) {
  const std::string size = core::format(" {}x{}", batch, classes);
  auto labels = random_labels(batch, classes);
  labels[batch / 2] = -1;
  cases.push_back(
      {"softmax_cross_entropy" + size, [=](Device& device, Desk& desk) {
         device.run(SoftmaxCrossEntropy{batch, classes, desk.labels(labels), desk.in(batch * classes, 8), desk.sum()});
       }});
  cases.push_back(
      {"softmax_cross_entropy, smoothed" + size, [=](Device& device, Desk& desk) {
         device.run(SoftmaxCrossEntropy{batch, classes, desk.labels(labels), desk.in(batch * classes, 8), desk.sum(), 0.1f});
       }});
  cases.push_back({"focal_loss" + size, [=](Device& device, Desk& desk) {
                     const auto logits = desk.in(batch * classes, 8);
                     device.run(FocalLoss{batch, classes, desk.labels(labels), logits, desk.sum(), 2});
                   }});
  cases.push_back({"weighted losses" + size, [=](Device& device, Desk& desk) {
                     const auto weights = desk.in(batch);
                     const auto of_labels = desk.labels(labels);
                     const auto next = [&] { return desk.in(batch * classes, 8); };
                     device.run(SoftmaxCrossEntropy{batch, classes, of_labels, next(), desk.sum(), 0.1f, weights});
                     device.run(SquaredError{batch, classes, of_labels, next(), desk.sum(), {}, weights});
                     device.run(FocalLoss{batch, classes, of_labels, next(), desk.sum(), 2, weights});
                   }});
  cases.push_back({"squared_error" + size, [=](Device& device, Desk& desk) {
                     device.run(SquaredError{batch, classes, desk.labels(labels), desk.in(batch * classes), desk.sum()});
                   }});
  cases.push_back({"squared_error of targets" + size, [=](Device& device, Desk& desk) {
                     const auto y = desk.in(batch * classes), targets = desk.in(batch * classes);
                     device.run(SquaredError{batch, classes, desk.labels(labels), y, desk.sum(), targets});
                   }});
}

void add_lstm(std::vector<Case>& cases, const LstmShape& shape) {
  const std::vector<std::uint32_t> active{5, 5, 4, 2, 2, 1};
  constexpr std::size_t frames = 19;
  cases.push_back(
      {core::format("lstm {}x({}+{})", shape.directions, shape.cells, shape.outputs), [=](Device& device, Desk& desk) {
         const auto recurrent = desk.in(shape.recurrent_size(), 0.5f), peepholes = desk.in(shape.peephole_size()),
                    projection = desk.in(shape.projection_size(), 0.5f);
         const LstmWeights weights{recurrent, peepholes, projection};
         const auto gates = desk.in(frames * shape.gate_width()), cells = desk.out(frames * shape.cell_width()),
                    hidden = desk.out(frames * shape.hidden_width());
         const LstmMemory memory{gates, cells, hidden};
         const auto y = desk.out(frames * shape.output_width());
         device.run(LstmForward{shape, Steps(active), weights, memory, y});
         const auto dy = desk.in(frames * shape.output_width());
         device.run(LstmBackward{shape, Steps(active), weights, memory, dy});
         const LstmGradients gradients{desk.in(shape.recurrent_size()), desk.in(shape.peephole_size()),
                                       desk.in(shape.projection_size())};
         device.run(LstmGradient{shape, Steps(active), y, memory, dy, 0.9f, gradients});
       }});
}

void add_streams(std::vector<Case>& cases, std::size_t n) {
  const auto add = [&](const std::string& name, std::function<void(Device&, Desk&)> run) {
    cases.push_back({core::format("{} {}", name, n), std::move(run)});
  };
  for (const auto f : {identity, sigmoid, tanh, relu})
    add("activation_backward", [=](Device& device, Desk& desk) {
      const auto y = desk.in(n);
      device.run(ActivationBackward{f, y, desk.in(n)});
    });
  add("fill", [=](Device& device, Desk& desk) { device.run(Fill{3, desk.out(n)}); });
  add("copy", [=](Device& device, Desk& desk) {
    const auto from = desk.in(n);
    device.run(Copy{from, desk.out(n)});
  });
  add("scale", [=](Device& device, Desk& desk) { device.run(Scale{-0.3f, desk.in(n)}); });
  add("add", [=](Device& device, Desk& desk) {
    const auto from = desk.in(n);
    device.run(Add{from, desk.in(n)});
  });
  for (const Code code : {Code::fp16, Code::bf16})
    add("add_codes", [=](Device& device, Desk& desk) {
      const auto from = desk.in(n);
      device.run(AddCodes{code, from, desk.in(n)});
    });
  add("clamp", [=](Device& device, Desk& desk) { device.run(Clamp{0.4f, desk.in(n)}); });
  for (const float decay : {0.f, 0.1f}) {
    add("descend", [=](Device& device, Desk& desk) {
      const auto d = desk.in(n);
      device.run(Descend{0.1f, decay, d, desk.in(n)});
    });
    for (const bool nesterov : {false, true})
      add("momentum_update", [=](Device& device, Desk& desk) {
        const auto g = desk.in(n), v = desk.in(n);
        device.run(MomentumUpdate{0.1f, 0.9f, nesterov, decay, g, v, desk.in(n)});
      });
  }
  add("adam_update", [=](Device& device, Desk& desk) {
    const auto g = desk.in(n), m = desk.in(n), v = desk.positive(n);
    device.run(AdamUpdate{
        {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.999, .unbias = 1.5, .epsilon = 1e-8, .decay = 0.01}, g, m, v, desk.in(n)});
  });
  add("block_filter", [=](Device& device, Desk& desk) {
    const auto average = desk.in(n), w = desk.in(n);
    device.run(BlockFilter{0.9f, 1.1f, 0.8f, 0.9f, average, w, desk.in(n)});
  });
  add("look_ahead", [=](Device& device, Desk& desk) {
    const auto w = desk.in(n), delta = desk.in(n);
    device.run(LookAhead{0.9f, w, delta, desk.out(n)});
  });
  add("move_towards", [=](Device& device, Desk& desk) {
    const auto target = desk.in(n);
    device.run(MoveTowards{0.1f, target, desk.in(n)});
  });
  for (const bool of_squares : {false, true})
    add("moment_filter", [=](Device& device, Desk& desk) {
      const auto moment = desk.in(n);
      device.run(MomentFilter{0.9, 0.8, of_squares, moment, desk.in(n)});
    });
  add("sums", [=](Device& device, Desk& desk) {
    const auto a = desk.in(n, 3), b = desk.in(n);
    LossSum* const sum = desk.sum();
    device.run(SquaredNorm{0.5, a, &sum->loss});
    device.run(SquaredDistance{2, a, b, &sum->loss});
    device.run(SoftplusSum{1, a, &sum->loss});
    device.run(Dot{-1, a, b, &sum->free_energy});
  });
  for (const std::size_t keep : {std::size_t{0}, n / 7, n})
    for (const bool remember : {false, true})
      add("select_largest and scatter_add", [=](Device& device, Desk& desk) {
        const auto x = desk.in(n), residual = desk.in(remember ? n : 0);
        const auto packed = desk.bytes_out(8 * keep);
        device.run(SelectLargest{keep, x, residual, packed});
        device.run(ScatterAdd{packed, 1, desk.in(n)});
        device.run(ScatterAdd{packed, 0, desk.out(n)});
      });
  for (const bool remember : {false, true})
    for (const ChunkFormat& format : {ChunkFormat{40, 700}, ChunkFormat{64, 4096, true, Code::bins4}})
      add(core::format("encode_chunks {} of {}", format.keep, format.chunk), [=](Device& device, Desk& desk) {
        const auto x = desk.in(n), residual = desk.in(remember ? n : 0);
        const auto packed = desk.bytes_out(format.packed_bytes(n));
        device.run(EncodeChunks{format, x, residual, packed});
        device.run(DecodeChunks{format, packed, 1, desk.in(n)});
        device.run(DecodeChunks{format, packed, 0, desk.out(n)});
      });
}

void add_matrices(std::vector<Case>& cases, std::size_t rows, std::size_t columns) {
  const auto add = [&](const std::string& name, std::function<void(Device&, Desk&)> run, double tolerance = 1e-5) {
    cases.push_back({core::format("{} {}x{}", name, rows, columns), std::move(run), tolerance});
  };
  add("limit_row_norms", [=](Device& device, Desk& desk) {
    device.run(LimitRowNorms{rows, columns, 0.5f * std::sqrt(static_cast<float>(columns)), desk.in(rows * columns)});
  });
  add("copy_columns", [=](Device& device, Desk& desk) {
    const auto from = desk.in((rows - 1) * (columns + 3) + columns), to = desk.in((rows - 1) * (columns + 5) + columns);
    device.run(CopyColumns{rows, columns, columns + 3, from, columns + 5, to});
  });
  for (const Code code : {Code::bits1, Code::bits2, Code::bits4, Code::bits8, Code::bits16, Code::fp16, Code::bf16,
                          Code::bins2, Code::bins4, Code::e3m0})
    for (const bool remember : {false, true})
      for (const bool at_mean : {false, true}) {
        if (at_mean && code != Code::bits1) continue;
        add(core::format("quantise in code {}", static_cast<int>(code)), [=](Device& device, Desk& desk) {
          const Quantiser quantiser{code, at_mean};
          const auto x = desk.in(rows * columns), residual = desk.in(remember ? rows * columns : 0);
          const auto packed = desk.bytes_out(quantiser.packed_bytes(rows, columns));
          device.run(Quantise{quantiser, rows, columns, x, residual, packed});
          device.run(Dequantise{quantiser, rows, columns, packed, 0, desk.out(rows * columns)});
          device.run(Dequantise{quantiser, rows, columns, packed, 1, desk.in(rows * columns)});
        });
      }
  add(
      "orthonormalise",
      [=](Device& device, Desk& desk) {
        const std::size_t rank = std::min<std::size_t>(rows, 4);
        device.run(Orthonormalise{rows, rank, desk.in(rows * rank)});
      },
      1e-4);
  add("samples", [=](Device& device, Desk& desk) {
    const core::RandomStream random(5, core::Purpose::generator, 2);
    const auto chosen = desk.rows(rows);
    const auto p = desk.positive(rows * columns);
    device.run(SampleBernoulli{random, chosen, columns, p, desk.out(rows * columns)});
    device.run(SampleNormal{random, chosen, columns, p, desk.out(rows * columns)});
  });
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& [batch, in, out] : {std::array{1u, 3u, 2u}, {5u, 17u, 33u}, {64u, 130u, 65u}, {16u, 64u, 128u}})
    add_products(cases, batch, in, out);
  for (const auto& [batch, classes] : {std::pair(1u, 2u), {7u, 10u}, {33u, 1001u}, {3u, 2500u}})
    add_losses(cases, batch, classes);
  for (const std::size_t directions : {1u, 2u})
    for (const bool projected : {false, true})
      add_lstm(cases, {.cells = 7,
                       .outputs = projected ? 3u : 7u,
                       .directions = directions,
                       .peepholes = projected,
                       .projected = projected});
  cases.push_back({"ctc", [](Device& device, Desk& desk) {
                     const std::vector<std::uint32_t> active{3, 3, 2, 2, 1};
                     const auto labels = desk.labels({0, 2, 1, 1, 2, -1, 0, -1, -1, -1, -1});
                     device.run(Ctc{4, Steps(active), labels, desk.in(11 * 4, 3), desk.sum()});
                   }});
  for (const std::size_t n : {1u, 31u, 1025u, 1028u, sanitized ? 5'001u : 70'001u}) add_streams(cases, n);
  for (const core::Encoding encoding :
       {core::Encoding{core::NumberType::uint8, 0.25f, -3}, {core::NumberType::float32, 1, 0}})
    cases.push_back({"decode", [=](Device& device, Desk& desk) {
                       const std::size_t frame_dim = 3, numbers = frame_dim * (7 * 40 + 3 + 5);
                       const auto stored = std::as_bytes(desk.in(numbers));
                       device.decode(encoding, frame_dim, stored, desk.rows(41), desk.out(41 * 5 * frame_dim));
                     }});
  for (const auto& [rows, columns] : {std::pair(1u, 1u), {33u, 5u}, {257u, 40u}}) {
    add_matrices(cases, rows, columns);
    add_graph_kernels(cases, rows, columns);
  }
  add_image_kernels(cases);
  return cases;
}

}  // namespace

TEST_CASE(
    "every kernel gives what the reference gives, and the same bits wherever its memory is and in whatever order blocks and "
    "threads go",
    "[backend]") {
  const auto reference = make_device("reference"), cpu = make_device("cpu"), isolated = make_device("isolated");
  const auto forwards = any_device("host gpu"), backwards = any_device("host gpu backwards");
  double worst_of_cpu = 0, worst_of_gpu = 0;
  for (const Case& each : all_cases()) {
    CAPTURE(each.name);
    const auto expected = result_of(each, *reference), of_cpu = result_of(each, *cpu), of_gpu = result_of(each, *forwards);
    const double distance_of_cpu = relative_distance(of_cpu, expected),
                 distance_of_gpu = relative_distance(of_gpu, expected);
    CHECK(distance_of_cpu < each.tolerance);
    CHECK(distance_of_gpu < each.tolerance);
    CHECK(same_bits(result_of(each, *isolated), of_cpu));
    CHECK(same_bits(result_of(each, *backwards), of_gpu));
    worst_of_cpu = std::max(worst_of_cpu, distance_of_cpu);
    worst_of_gpu = std::max(worst_of_gpu, distance_of_gpu);
  }
  CHECK(worst_of_cpu > 0);  // or nothing was compared
  CHECK(worst_of_gpu > 0);
}

TEST_CASE("every kernel of the GPU gives what the reference gives, at any precision of products", "[gpu]") {
  const std::vector<Case> cases = all_cases();
  const auto reference = make_device("reference");
  std::vector<std::vector<float>> expected;
  for (const auto& [name, of_products] : {std::pair("cuda", 1e-5), {"cuda:tf32", 2e-3}, {"cuda:bf16", 1e-2}}) {
    const auto device = gpu_or_nothing(name);
    if (!device) return;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& each = cases[i];
      if (expected.size() == i) expected.push_back(result_of(each, *reference));
      const auto found = result_of(each, *device);
      CAPTURE(name, each.name);
      CHECK(relative_distance(found, expected[i]) < std::max(each.tolerance, of_products));
      CHECK(same_bits(found, result_of(each, *device)));
    }
  }
}

TEST_CASE("NCCL's sum over one GPU alone is what is there", "[gpu]") {
  const auto device = gpu_or_nothing("cuda");
  if (!device) return;
  std::unique_ptr<DeviceAllreduce> sum;
  try {
    sum = device->make_allreduce();
  } catch (const core::ConfigError& error) {
    WARN(error.what());
    return;
  }
  const auto mine = random_numbers(1000, 1);
  core::Arena memory = device->allocate(mine.size());
  sum->join(sum->invite(), 0, 1);
  while (!sum->is_done()) {
  }
  device->upload(std::span(mine), memory.span());
  sum->start(memory.span());
  while (!sum->is_done()) {
  }
  std::vector<float> found(mine.size());
  device->transfer(std::span<const float>(memory.span()), std::span(found));
  CHECK(found == mine);
}

TEST_CASE("only GPUs have an allreduce of their own", "[backend]") {
  for (const char* name : {"cpu", "isolated", "reference", "meta"})
    CHECK_THROWS_WITH(make_device(name)->make_allreduce(), contains_text("choose another"));
}
