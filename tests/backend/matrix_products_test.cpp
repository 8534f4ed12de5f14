// The cpu device's matrix products against the reference, over shapes around and beyond every blocking size.
#include <algorithm>

#include "backend/kernels/affine.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/gemm.hpp"
#include "catch.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

struct Shape {
  std::size_t batch, in, out;
};

const std::vector<Shape> shapes = {{1, 1, 1},      {1, 5, 3},     {2, 16, 16},   {3, 17, 33},     {7, 1, 40},
                                   {13, 40, 1},    {14, 64, 32},  {15, 31, 31},  {16, 33, 65},    {29, 70, 45},
                                   {64, 100, 10},  {64, 28, 512}, {65, 300, 47}, {130, 257, 130}, {200, 530, 100},
                                   {300, 64, 259}, {1, 784, 513}, {31, 13, 600}, {600, 20, 20},   {5, 1100, 7}};

const std::vector<Activation> activations = {Activation::identity, Activation::sigmoid, Activation::tanh, Activation::relu};

std::vector<float> rows_of(const std::vector<float>& matrix, std::size_t columns, std::size_t first, std::size_t count) {
  const auto begin = matrix.begin() + static_cast<std::ptrdiff_t>(first * columns);
  return {begin, begin + static_cast<std::ptrdiff_t>(count * columns)};
}

}  // namespace

TEST_CASE("cpu affine_forward agrees with the reference and overwrites what was there", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  for (const auto [batch, in, out] : shapes) {
    const auto x = random_numbers(batch * in, 1), w = random_numbers(in * out, 2), bias = random_numbers(out, 3);
    for (const Activation f : activations) {
      auto y = poisoned(batch * out), expected = poisoned(batch * out);
      cpu->run(AffineForward{batch, in, out, x, w, bias, f, y});
      reference->run(AffineForward{batch, in, out, x, w, bias, f, expected});
      INFO("batch " << batch << " in " << in << " out " << out << " activation " << static_cast<int>(f));
      CHECK(distance(y, expected) < sum_tolerance(in));
    }
  }
}

TEST_CASE("cpu affine_backward_input agrees with the reference and overwrites what was there", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  for (const auto [batch, in, out] : shapes) {
    const auto x = random_numbers(batch * in, 1), w = random_numbers(in * out, 2), dz = random_numbers(batch * out, 3);
    for (const Activation f : activations) {
      auto dx = poisoned(batch * in), expected = poisoned(batch * in);
      cpu->run(AffineBackwardInput{batch, in, out, dz, w, x, f, dx});
      reference->run(AffineBackwardInput{batch, in, out, dz, w, x, f, expected});
      INFO("batch " << batch << " in " << in << " out " << out << " activation " << static_cast<int>(f));
      CHECK(distance(dx, expected) < 2 * sum_tolerance(out));
    }
  }
}

TEST_CASE("cpu affine_backward_weights agrees with the reference for any keep", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  const float keep = GENERATE(0.f, 1.f, 0.9f);
  for (const auto [batch, in, out] : shapes) {
    const auto x = random_numbers(batch * in, 1), dz = random_numbers(batch * out, 2);
    auto dw = keep == 0 ? poisoned(in * out) : random_numbers(in * out, 3);
    auto expected = dw;
    cpu->run(AffineBackwardWeights{batch, in, out, 0, in, x, dz, keep, dw});
    reference->run(AffineBackwardWeights{batch, in, out, 0, in, x, dz, keep, expected});
    INFO("batch " << batch << " in " << in << " out " << out << " keep " << keep);
    CHECK(distance(dw, expected) < sum_tolerance(batch));
  }
}

TEST_CASE("the bits of a weight gradient do not depend on the panels it is computed in", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t panel = GENERATE(1u, 3u, 14u, 16u, 37u, 64u);
  for (const auto [batch, in, out] : {Shape{64, 100, 37}, Shape{300, 45, 64}, Shape{1, 33, 5}}) {
    const auto x = random_numbers(batch * in, 1), dz = random_numbers(batch * out, 2);
    const auto before = random_numbers(in * out, 3);
    auto whole = before, in_panels = before;
    device->run(AffineBackwardWeights{batch, in, out, 0, in, x, dz, 0.9f, whole});
    for (std::size_t row = 0; row < in; row += panel) {
      const std::size_t rows = std::min(panel, in - row);
      device->run(AffineBackwardWeights{batch, in, out, row, rows, x, dz, 0.9f,
                                        std::span(in_panels).subspan(row * out, rows * out)});
    }
    CHECK(same_bits(in_panels, whole));
  }
}

TEST_CASE("affine_descend has the bits and the work of its two parts", "[backend]") {
  const char* name = GENERATE("reference", "cpu", "meta");
  const float decay = GENERATE(0.f, 0.01f);
  for (const auto [batch, in, out] : {Shape{64, 100, 37}, Shape{300, 145, 64}, Shape{1, 33, 5}, Shape{2, 5, 1100}}) {
    const auto x = random_numbers(batch * in, 1), dz = random_numbers(batch * out, 2);
    auto v = random_numbers(in * out, 3), w = random_numbers(in * out, 4), v_parts = v, w_parts = w;
    const auto together = make_device(name), apart = make_device(name);
    together->run(AffineDescend{batch, in, out, x, dz, 0.9f, 0.1f, decay, v, w});
    apart->run(AffineBackwardWeights{batch, in, out, 0, in, x, dz, 0.9f, v_parts});
    apart->run(Descend{0.1f, decay, v_parts, w_parts});
    CHECK(same_bits(v, v_parts));
    CHECK(same_bits(w, w_parts));
    CHECK(together->meter() == apart->meter());
  }
}

TEST_CASE("what a sample gives does not depend on the samples beside it", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t batch = 77, in = 300, out = 45;
  const auto x = random_numbers(batch * in, 1), w = random_numbers(in * out, 2), bias = random_numbers(out, 3);
  const auto dz = random_numbers(batch * out, 4);
  auto y = poisoned(batch * out), dx = poisoned(batch * in);
  device->run(AffineForward{batch, in, out, x, w, bias, Activation::sigmoid, y});
  device->run(AffineBackwardInput{batch, in, out, dz, w, x, Activation::tanh, dx});
  for (const std::size_t count : {1u, 5u, 33u}) {
    const std::size_t first = 40;
    auto few_y = poisoned(count * out), few_dx = poisoned(count * in);
    device->run(AffineForward{count, in, out, rows_of(x, in, first, count), w, bias, Activation::sigmoid, few_y});
    device->run(AffineBackwardInput{count, in, out, rows_of(dz, out, first, count), w, rows_of(x, in, first, count),
                                    Activation::tanh, few_dx});
    CHECK(same_bits(few_y, rows_of(y, out, first, count)));
    CHECK(same_bits(few_dx, rows_of(dx, in, first, count)));
  }
}

TEST_CASE("the bits of a product do not depend on where its operands lie", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t offset = GENERATE(1u, 8u);  // from the start of a cache line, where the cpu device need not pack
  for (const auto [batch, in, out] : {Shape{64, 300, 112}, Shape{5, 64, 16}, Shape{150, 40, 80}, Shape{1, 200, 1040}}) {
    const auto x = random_numbers(batch * in, 1), bias = random_numbers(out, 2);
    const auto placed = [&](std::size_t count, std::uint32_t stream, std::size_t first) {
      paragrad::core::Arena arena = device->allocate(first + count);
      std::ranges::copy(random_numbers(count, stream), arena.span().begin() + static_cast<std::ptrdiff_t>(first));
      return arena;
    };
    std::vector<std::vector<float>> results;
    for (const std::size_t first : {std::size_t{0}, offset}) {
      const paragrad::core::Arena w_arena = placed(in * out, 3, first), dz_arena = placed(batch * out, 4, first);
      const auto w = w_arena.span().subspan(first), dz = dz_arena.span().subspan(first);
      auto y = poisoned(batch * out), d = random_numbers(in * out, 5), new_w = random_numbers(in * out, 3);
      device->run(AffineForward{batch, in, out, x, w, bias, Activation::sigmoid, y});
      device->run(AffineDescend{batch, in, out, x, dz, 0.9f, 0.1f, 0, d, new_w});
      results.insert(results.end(), {y, d, new_w});
    }
    for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(results[i], results[i + 3]));
  }
}

TEST_CASE("cpu gemm agrees with the reference in every layout", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  const Transpose a_layout = GENERATE(Transpose::no, Transpose::yes);
  const Transpose b_layout = GENERATE(Transpose::no, Transpose::yes);
  const float keep = GENERATE(0.f, 0.5f);
  for (const auto [m, k, n] : {Shape{1, 1, 1}, Shape{1, 9, 4}, Shape{17, 33, 65}, Shape{64, 300, 47}, Shape{130, 70, 129}}) {
    const auto a = random_numbers(m * k, 1), b = random_numbers(k * n, 2);
    auto c = keep == 0 ? poisoned(m * n) : random_numbers(m * n, 3);
    auto expected = c;
    cpu->run(Gemm{a_layout, b_layout, m, n, k, a, b, keep, c});
    reference->run(Gemm{a_layout, b_layout, m, n, k, a, b, keep, expected});
    INFO("m " << m << " n " << n << " k " << k);
    CHECK(distance(c, expected) < sum_tolerance(k));
  }
}

TEST_CASE("an empty sum is zero: a product over nothing only keeps", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> c = {1, 2, 3, 4}, dw = {not_a_number, not_a_number};
  device->run(Gemm{Transpose::no, Transpose::no, 2, 2, 0, {}, {}, 0.5f, c});
  device->run(AffineBackwardWeights{0, 2, 1, 0, 2, {}, {}, 0.f, dw});
  CHECK(c == std::vector<float>{0.5f, 1, 1.5f, 2});
  CHECK(dw == std::vector<float>{0, 0});
  REQUIRE_NOTHROW(device->run(AffineForward{0, 2, 1, {}, dw, std::vector<float>{1}, Activation::relu, {}}));
}

TEST_CASE("NaN passes through a layer, ReLU included", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const Activation f = GENERATE(Activation::identity, Activation::sigmoid, Activation::tanh, Activation::relu);
  const std::size_t batch = 3, in = 20, out = 18;
  auto x = random_numbers(batch * in, 1);
  x[in + 4] = not_a_number;
  const auto w = random_numbers(in * out, 2), bias = random_numbers(out, 3);
  auto y = poisoned(batch * out);
  device->run(AffineForward{batch, in, out, x, w, bias, f, y});
  for (std::size_t j = 0; j < out; ++j) {
    CHECK_FALSE(std::isnan(y[j]));
    CHECK(std::isnan(y[out + j]));
  }
}

TEST_CASE("a span of the wrong size is a broken contract", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu", "meta"));
  std::vector<float> six(6), four(4);
  CHECK_THROWS_AS(device->run(Gemm{Transpose::no, Transpose::no, 2, 2, 3, six, six, 0.f, six}), std::logic_error);
  CHECK_THROWS_AS(device->run(AffineBackwardWeights{2, 3, 2, 2, 2, six, four, 0.f, four}), std::logic_error);
  CHECK_THROWS_AS(device->run(Copy{six, four}), std::logic_error);
  REQUIRE_NOTHROW(device->run(Gemm{Transpose::no, Transpose::no, 2, 2, 3, six, six, 0.f, four}));
}
