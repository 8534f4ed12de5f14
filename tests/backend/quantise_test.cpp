// Quantised gradients: what the codes and the residual mean, against their definitions.
#include "backend/kernels/quantise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "tests/backend/quantise_support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

TEST_CASE("the residual is what was to be sent less what was sent, bit for bit", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const Quantiser& quantiser : quantisers) {
    for (const std::size_t rows : row_counts) {
      const auto x = columns_of_all_kinds(rows, 1), before = random_numbers(x.size(), 2);
      const Coded coded = code(*device, quantiser, rows, x, before);
      std::vector<float> expected(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) expected[i] = x[i] + before[i] - coded.decoded[i];
      CHECK(same_bits(coded.residual, expected));
    }
  }
}

TEST_CASE("over many steps what was sent and the last residual make up what came in", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t rows = 100;
  for (const Quantiser& quantiser : quantisers) {
    std::vector<float> residual(6 * rows);
    std::vector<double> total(6 * rows);  // came in less sent
    for (std::uint32_t step = 0; step < 50; ++step) {
      const auto x = columns_of_all_kinds(rows, step);
      const Coded coded = code(*device, quantiser, rows, x, residual);
      residual = coded.residual;
      for (std::size_t i = 0; i < x.size(); ++i) total[i] += double{x[i]} - coded.decoded[i];
    }
    for (std::size_t i = 0; i < total.size(); ++i)  // the column with elements of 1000 is rounded as its size demands
      REQUIRE(std::abs(total[i] - residual[i]) < (i / rows == 3 ? 2e-2 : 1e-4));
  }
}

TEST_CASE("the residual of 1 bit sums up to 0 but for the rounding of the levels", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const bool threshold_at_mean = GENERATE(false, true);
  const auto x = normal_numbers(1000, 5);
  const Coded coded = code(*device, {Code::bits1, threshold_at_mean}, 1000, x, std::vector<float>(1000));
  double sum = 0;
  for (const float error : coded.residual) sum += error;
  CHECK(std::abs(sum) < 1000 * 0.8 / 256);  // half a last place of bfloat16, of levels around 0.8
}

TEST_CASE("dequantise overwrites where keep is 0 and adds where it is 1", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const Quantiser& quantiser : quantisers) {
    for (const std::size_t rows : row_counts) {
      const auto x = columns_of_all_kinds(rows, 1), before = random_numbers(x.size(), 2);
      const Coded coded = code(*device, quantiser, rows, x);  // decoded over NaN
      auto sum = before, expected = before;
      device->run(Dequantise{quantiser, rows, 6, coded.packed, 1, sum});
      for (std::size_t i = 0; i < x.size(); ++i) expected[i] += coded.decoded[i];
      CHECK(same_bits(sum, expected));
    }
  }
}

TEST_CASE("without residual the codes are those of a residual of 0", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const Quantiser& quantiser : quantisers) {
    const auto x = columns_of_all_kinds(1000, 1);
    CHECK(code(*device, quantiser, 1000, x).packed ==
          code(*device, quantiser, 1000, x, std::vector<float>(x.size())).packed);
  }
}

TEST_CASE("a column of zeros decodes to zeros", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const Quantiser& quantiser : quantisers)
    CHECK(same_bits(code(*device, quantiser, 33, std::vector<float>(66)).decoded, std::vector<float>(66)));
}

TEST_CASE("matrices without rows or without columns are left alone", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const Quantiser& quantiser : quantisers) {
    std::vector<std::byte> packed(quantiser.packed_bytes(0, 2));
    device->run(Quantise{quantiser, 0, 2, {}, {}, packed});
    device->run(Dequantise{quantiser, 0, 2, packed, 0, {}});
    device->run(Quantise{quantiser, 5, 0, {}, {}, {}});
    device->run(Dequantise{quantiser, 5, 0, {}, 1, {}});
  }
}

TEST_CASE("the steps of 2, 4 and 8 bits have the least squared error for a normal distribution", "[backend]") {
  const std::size_t width = GENERATE(2u, 4u, 8u);
  const int limit = largest_multiple(width);
  const auto error = [&](double step) {  // ∫ (x - q·step)² φ(x) dx, twice the half above 0
    const auto density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846); };
    const auto from_minus_infinity = [&](double x, double m) {
      return (1 + m * m) * 0.5 * std::erfc(-x / std::sqrt(2)) - (x - 2 * m) * density(x);
    };
    double sum = from_minus_infinity(step / 2, 0) - from_minus_infinity(0, 0);
    for (int q = 1; q <= limit; ++q) {
      const double m = q * step, end = q == limit ? 40 : m + step / 2;
      sum += from_minus_infinity(end, m) - from_minus_infinity(m - step / 2, m);
    }
    return 2 * sum;
  };
  double low = 0.01, high = 2;
  for (int i = 0; i < 200; ++i) {  // ternary search: one minimum
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (error(a) < error(b) ? high : low) = error(a) < error(b) ? b : a;
  }
  CHECK(step_per_deviation(width) == Approx(low).epsilon(1e-4));
  CHECK(error(step_per_deviation(width)) == Approx(width == 2 ? 0.190 : width == 4 ? 0.0129 : 0.0000883).epsilon(5e-3));
}

TEST_CASE("more bits leave a smaller error", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const auto x = normal_numbers(2000, 1);
  const double power = squared_error(x, std::vector<float>(x.size()));
  const auto relative = [&](Quantiser quantiser) {
    return squared_error(x, code(*device, quantiser, x.size(), x).decoded) / power;
  };
  CHECK(relative({Code::bits1}) < 0.42);  // 1 - 2/π of a normal distribution is 0.363
  CHECK(relative({Code::bits2}) < 0.22);
  CHECK(relative({Code::bits4}) < 0.015);
  CHECK(relative({Code::bits8}) < 1e-4);
  CHECK(relative({Code::bits16}) < 1e-8);
  CHECK(relative({Code::bf16}) < 4e-6);
  CHECK(relative({Code::fp16}) < 6e-8);
  CHECK(relative({Code::bins2}) < 0.2);
  CHECK(relative({Code::bins4}) < 0.02);
  CHECK(relative({Code::e3m0}) < 0.05);
}

TEST_CASE("nothing hides a NaN, and no value stops the kernels", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Quantiser& quantiser : quantisers) {
    for (const float broken : {not_a_number, -not_a_number, infinity, -infinity, 3e38f, -3e38f, 1e-44f}) {
      for (const std::size_t rows : {1u, 33u, 100u}) {
        auto x = random_numbers(3 * rows, 1);
        x[rows + rows / 2] = broken;
        const Coded coded = code(*device, quantiser, rows, x, std::vector<float>(x.size()));
        const auto any_nan = [](std::span<const float> v) {
          return std::any_of(v.begin(), v.end(), [](float value) { return std::isnan(value); });
        };
        if (std::isnan(broken)) CHECK(any_nan(std::span(coded.decoded).subspan(rows, rows)));
        CHECK_FALSE(any_nan(std::span(coded.decoded).first(rows)));  // columns beside it know nothing of it
        CHECK_FALSE(any_nan(std::span(coded.decoded).last(rows)));
      }
    }
  }
}

TEST_CASE("fp16 counts in its unit, and counts what is beyond its range", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const float unit = GENERATE(1.f, 1024.f, 0x1p-10f);
  for (const std::size_t rows : {1u, 33u, 100u}) {
    std::vector<float> x = normal_numbers(2 * rows, 1), residual(2 * rows);
    for (float& value : x) value *= unit;
    x[0] = 65504 * unit;
    x[rows] = -1e6f * unit;
    x[2 * rows - 1] = 65536 * unit;
    const Quantiser quantiser{.code = Code::fp16, .unit = unit};
    std::vector<std::byte> packed(quantiser.packed_bytes(rows, 2));
    std::vector<std::uint32_t> saturated{7};
    std::vector<float> decoded(2 * rows);
    device->run(Quantise{quantiser, rows, 2, x, residual, packed, saturated});
    device->run(Dequantise{quantiser, rows, 2, packed, 0, decoded});
    CHECK(saturated[0] == (rows == 1 ? 8u : 9u));
    CHECK(decoded[0] == 65504 * unit);
    CHECK(decoded[2 * rows - 1] == 65504 * unit);
    for (std::size_t i = 1; i < rows; ++i) CHECK(decoded[i] == Approx(x[i]).epsilon(1e-3).margin(1e-7 * unit));
    for (std::size_t i = 0; i < 2 * rows; ++i) CHECK(residual[i] == x[i] - decoded[i]);
  }
}

TEST_CASE("the work of quantise and dequantise is what they read and write", "[backend]") {
  const auto device = make_device("meta");
  core::Arena x = device->allocate(1024), residual = device->allocate(1024), packed = device->allocate(34);
  const auto bytes = std::as_writable_bytes(packed.span());
  device->run(Quantise{{}, 512, 2, x.span(), residual.span(), bytes});
  CHECK(device->meter().of(KernelKind::streaming) == Work{1, 4 * 1024, 3 * 4096 + 136});
  device->run(Quantise{{}, 512, 2, x.span(), {}, bytes});
  CHECK(device->meter().of(KernelKind::streaming) == Work{2, 6 * 1024, 4 * 4096 + 2 * 136});
  device->run(Dequantise{{}, 512, 2, bytes, 0, x.span()});
  CHECK(device->meter().of(KernelKind::streaming) == Work{3, 7 * 1024, 5 * 4096 + 3 * 136});
  device->run(Dequantise{{}, 512, 2, bytes, 1, x.span()});
  CHECK(device->meter().of(KernelKind::streaming) == Work{4, 9 * 1024, 7 * 4096 + 4 * 136});
}

TEST_CASE("quantise and dequantise refuse arrays of other sizes", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu", "meta"));
  std::vector<float> x(64);
  std::vector<std::byte> packed(2 * 8);
  CHECK_THROWS_AS(device->run(Quantise{{}, 33, 2, x, {}, packed}), std::logic_error);
  CHECK_THROWS_AS(device->run(Quantise{{}, 32, 2, x, std::span(x).first(32), packed}), std::logic_error);
  CHECK_THROWS_AS(device->run(Quantise{{}, 32, 2, x, {}, std::span(packed).first(12)}), std::logic_error);
  CHECK_THROWS_AS(device->run(Dequantise{{}, 32, 2, packed, 0.5f, x}), std::logic_error);
  CHECK_THROWS_AS(device->run(Dequantise{{}, 32, 1, packed, 0, x}), std::logic_error);
}
