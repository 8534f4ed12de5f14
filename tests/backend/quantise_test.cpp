// Quantised gradients: the format against hand-written bytes, the codes against their definitions, and the devices against
// each other.
#include "backend/reference/quantise.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "catch.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

const std::vector<Quantiser> quantisers = {{Code::bits1, false}, {Code::bits1, true}, {Code::bits2}, {Code::bits4},
                                           {Code::bits8},        {Code::bits16},      {Code::fp16},  {Code::bf16}};
const std::vector<std::size_t> row_counts = {1, 2, 15, 31, 32, 33, 63, 64, 65, 512, 1000, 9001};

struct Coded {
  std::vector<std::byte> packed;
  std::vector<float> residual;  // as left by quantise
  std::vector<float> decoded;
};

/// What x + residual becomes; an empty residual stays empty.
Coded code(Device& device, const Quantiser& quantiser, std::size_t rows, const std::vector<float>& x,
           std::vector<float> residual = {}) {
  const std::size_t columns = rows == 0 ? 0 : x.size() / rows;
  Coded coded{std::vector<std::byte>(quantiser.packed_bytes(rows, columns), std::byte{0xA5}), std::move(residual),
              poisoned(x.size())};
  device.quantise(quantiser, rows, columns, x, coded.residual, coded.packed);
  device.dequantise(quantiser, rows, columns, coded.packed, 0, coded.decoded);
  return coded;
}

std::uint32_t word(const std::vector<std::byte>& packed, std::size_t index) {
  std::uint32_t value;
  std::memcpy(&value, packed.data() + 4 * index, sizeof value);
  return value;
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

/// Normally distributed, mean 0, deviation 1 (Box and Muller).
std::vector<float> normal_numbers(std::size_t count, std::uint32_t stream) {
  const auto a = random_numbers<double>(count, stream), b = random_numbers<double>(count, stream + 1000);
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>(std::sqrt(-2 * std::log((1 - a[i]) / 2)) * std::cos(3.14159265358979 * b[i]));
  return numbers;
}

/// Columns unlike each other: normal, none above 0, all 0, one element far from the others, alternating, around 3.
std::vector<float> columns_of_all_kinds(std::size_t rows, std::uint32_t stream) {
  std::vector<float> x = normal_numbers(6 * rows, stream);
  const auto column = [&](std::size_t j) { return std::span(x).subspan(j * rows, rows); };
  for (float& value : column(1)) value = -std::abs(value);
  for (float& value : column(2)) value = 0;
  column(3)[rows / 2] = 1000;
  for (std::size_t r = 0; r < rows; ++r) column(4)[r] = r % 2 ? 0.3f : -0.1f;
  for (float& value : column(5)) value += 3;
  return x;
}

double squared_error(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

}  // namespace

TEST_CASE("a column of 1 bit is two bfloat16 levels and a bit for each row, low bits first", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> x(33, -1);
  for (const std::size_t r : {1u, 2u, 31u, 32u}) x[r] = 3;
  const Coded coded = code(*device, {Code::bits1}, 33, x);
  REQUIRE(coded.packed.size() == 12);
  CHECK(word(coded.packed, 0) == 0x4040BF80);  // 3 above, -1 below
  CHECK(word(coded.packed, 1) == 0x80000006);
  CHECK(word(coded.packed, 2) == 1);
  CHECK(coded.decoded == x);
}

TEST_CASE("a packed matrix is the headers of all columns and then their codes without a gap", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> x(3 * 33, -1);
  for (const std::size_t i : {1u, 32u, 33u, 65u, 98u}) x[i] = 3;
  const Coded one = code(*device, {Code::bits1}, 33, x);
  REQUIRE(one.packed.size() == 28);
  for (const std::size_t j : {0u, 1u, 2u}) CHECK(word(one.packed, j) == 0x4040BF80);
  CHECK(word(one.packed, 3) == 0x00000002);  // elements 0 to 31
  CHECK(word(one.packed, 4) == 0x00000003);
  CHECK(word(one.packed, 5) == 0x00000002);
  CHECK(word(one.packed, 6) == 0x00000004);  // 96 to 98
  CHECK(one.decoded == x);

  const Coded sixteen = code(*device, {Code::bits16}, 3, {-32767, 2, 3, 32767, -1, 5});
  REQUIRE(sixteen.packed.size() == 20);
  CHECK(word(sixteen.packed, 2) == 0x00028001);
  CHECK(word(sixteen.packed, 3) == 0x7FFF0003);
  CHECK(word(sixteen.packed, 4) == 0x0005FFFF);
}

TEST_CASE("zero is above the threshold 0, and a side without elements has level 0", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const Coded zeros = code(*device, {Code::bits1}, 3, {0, 0, 0});
  CHECK(word(zeros.packed, 0) == 0);
  CHECK(word(zeros.packed, 1) == 7);
  const Coded negative = code(*device, {Code::bits1}, 2, {-1, -2});
  CHECK(word(negative.packed, 0) == 0x0000BFC0);
  CHECK(word(negative.packed, 1) == 0);
  CHECK(negative.decoded == std::vector<float>{-1.5f, -1.5f});
}

TEST_CASE("a threshold at the mean separates a column that has one sign", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::vector<float> x = {1, 1, 1, 5};
  CHECK(code(*device, {Code::bits1, true}, 4, x).decoded == x);
  CHECK(code(*device, {Code::bits1, false}, 4, x).decoded == std::vector<float>(4, 2));
}

TEST_CASE("whole multiples are packed in two's complement behind their step", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const Coded coded = code(*device, {Code::bits16}, 3, {-32767, 2, 32767});
  REQUIRE(coded.packed.size() == 12);
  CHECK(word(coded.packed, 0) == bits(1));
  CHECK(word(coded.packed, 1) == 0x00028001);
  CHECK(word(coded.packed, 2) == 0x00007FFF);

  std::vector<float> x(9, 0);  // rms 1 where nine elements hold squares that sum up to 9
  x[0] = -3;
  const Coded four = code(*device, {Code::bits4}, 9, x);
  REQUIRE(four.packed.size() == 12);
  CHECK(word(four.packed, 0) == bits(step_per_deviation(4)));
  CHECK(word(four.packed, 1) == 0x00000009);  // -3 is beyond -7 steps
  CHECK(word(four.packed, 2) == 0);
  CHECK(code(*device, {Code::bits2}, 9, x).packed[4] == std::byte{0x03});
  CHECK(word(code(*device, {Code::bits8}, 9, x).packed, 1) == 0x9F);  // -97 steps
}

TEST_CASE("a matrix of 1 bit takes less than 1/30 of its float32 from 512 rows on", "[backend]") {
  CHECK(Quantiser{}.packed_bytes(512, 1) == 68);
  for (std::size_t rows = 512; rows < 5000; ++rows)
    for (const std::size_t columns : {16u, 100u, 1001u})
      REQUIRE(30 * Quantiser{}.packed_bytes(rows, columns) < 4 * rows * columns);
}

TEST_CASE("a packed matrix takes the headers of its columns and whole words", "[backend]") {
  CHECK(Quantiser{Code::bits1}.packed_bytes(33, 3) == 3 * 4 + 4 * 4);
  CHECK(Quantiser{Code::fp16}.packed_bytes(3, 3) == 5 * 4);
  CHECK(Quantiser{Code::bits1}.packed_bytes(1, 1) == 8);
  CHECK(Quantiser{Code::bits2}.packed_bytes(17, 1) == 12);
  CHECK(Quantiser{Code::bits4}.packed_bytes(8, 1) == 8);
  CHECK(Quantiser{Code::bits8}.packed_bytes(5, 1) == 12);
  CHECK(Quantiser{Code::bits16}.packed_bytes(3, 1) == 12);
  CHECK(Quantiser{Code::fp16}.packed_bytes(3, 1) == 8);
  CHECK(Quantiser{Code::bf16}.packed_bytes(4, 1) == 8);
  CHECK(Quantiser{Code::bits1}.packed_bytes(0, 1) == 4);
}

TEST_CASE("bits of the last word that stand for no element are 0", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const float value = GENERATE(-1.f, std::numeric_limits<float>::quiet_NaN());
  const std::size_t columns = GENERATE(1u, 3u);
  for (const Quantiser& quantiser : quantisers) {
    const std::size_t width = bits_of(quantiser.code);
    for (const std::size_t rows : {1u, 3u, 17u, 31u, 33u}) {
      const Coded coded = code(*device, quantiser, rows, std::vector<float>(rows * columns, value));
      const std::size_t used = rows * columns * width % 32;
      const std::uint32_t last = word(coded.packed, coded.packed.size() / 4 - 1);
      if (used > 0) CHECK((last >> used) == 0);
    }
  }
}

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
      device->dequantise(quantiser, rows, 6, coded.packed, 1, sum);
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
    device->quantise(quantiser, 0, 2, {}, {}, packed);
    device->dequantise(quantiser, 0, 2, packed, 0, {});
    device->quantise(quantiser, 5, 0, {}, {}, {});
    device->dequantise(quantiser, 5, 0, {}, 1, {});
  }
}

TEST_CASE("the bits of a column depend on neither its place nor its alignment", "[backend]") {
  const auto device = make_device("cpu");
  for (const Quantiser& quantiser : quantisers) {
    const std::size_t rows = 77;
    const auto x = columns_of_all_kinds(rows, 3);
    const Coded together = code(*device, quantiser, rows, x, random_numbers(x.size(), 2));
    const auto before = random_numbers(x.size(), 2);
    for (std::size_t j = 0; j < 6; ++j) {
      const auto column = [&](const std::vector<float>& v) {
        return std::vector<float>(v.begin() + static_cast<std::ptrdiff_t>(j * rows),
                                  v.begin() + static_cast<std::ptrdiff_t>((j + 1) * rows));
      };
      const Coded alone = code(*device, quantiser, rows, column(x), column(before));
      CHECK(same_bits(alone.decoded, column(together.decoded)));
      CHECK(same_bits(alone.residual, column(together.residual)));
    }
  }
}

TEST_CASE("an array larger than the cache is decoded as a small one", "[backend]") {
  const auto device = make_device("cpu");
  const std::size_t rows = GENERATE(512u, 1001u), columns = 2200;  // aligned, and not
  for (const Quantiser& quantiser : quantisers) {
    std::vector<float> x(rows * columns);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 1000) - 499.5f;
    const Coded together = code(*device, quantiser, rows, x);
    for (std::size_t j = 0; j < columns; j += 100) {
      const auto begin = static_cast<std::ptrdiff_t>(j * rows), end = static_cast<std::ptrdiff_t>((j + 1) * rows);
      const Coded alone = code(*device, quantiser, rows, {x.begin() + begin, x.begin() + end});
      REQUIRE(std::equal(alone.decoded.begin(), alone.decoded.end(), together.decoded.begin() + begin));
    }
  }
}

TEST_CASE("cpu and reference give the same bytes where no sum is involved", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  for (const Code exact : {Code::bits16, Code::fp16, Code::bf16}) {
    for (const std::size_t rows : row_counts) {
      const auto x = columns_of_all_kinds(rows, 1), before = random_numbers(x.size(), 2);
      const Coded mine = code(*cpu, {exact}, rows, x, before), theirs = code(*reference, {exact}, rows, x, before);
      CHECK(mine.packed == theirs.packed);
      CHECK(same_bits(mine.residual, theirs.residual));
      CHECK(same_bits(mine.decoded, theirs.decoded));
    }
  }
}

TEST_CASE("cpu and reference agree on the bits around 0, and on levels but for a rounding", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  for (const std::size_t rows : row_counts) {
    const auto x = columns_of_all_kinds(rows, 1), before = random_numbers(x.size(), 2);
    const Coded mine = code(*cpu, {}, rows, x, before), theirs = code(*reference, {}, rows, x, before);
    const std::size_t headers = x.size() / rows;
    for (std::size_t w = 0; w < mine.packed.size() / 4; ++w) {
      const std::uint32_t a = word(mine.packed, w), b = word(theirs.packed, w);
      if (w >= headers) {
        REQUIRE(a == b);
      } else {  // the last place of each level
        CHECK(std::abs(static_cast<int>(a & 0xFFFF) - static_cast<int>(b & 0xFFFF)) <= 1);
        CHECK(std::abs(static_cast<int>(a >> 16) - static_cast<int>(b >> 16)) <= 1);
      }
    }
  }
}

TEST_CASE("cpu and reference choose the same levels and steps, and hence make the same error", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  for (const Quantiser& quantiser : quantisers) {
    for (const std::size_t rows : {33u, 1000u, 9001u}) {
      const auto x = normal_numbers(rows, 1);
      const double mine = squared_error(x, code(*cpu, quantiser, rows, x).decoded);
      CHECK(mine == Approx(squared_error(x, code(*reference, quantiser, rows, x).decoded)).epsilon(1e-3));
    }
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
}

TEST_CASE("half precision rounds to even, keeps small numbers and saturates, on every device", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {1,        1 + 0x1p-11f, 1 + 0x3p-11f,        -65504,     65519, 1e6f, -infinity, 0x1p-24f,
                                0x1p-25f, 0x3p-25f,     0x1p-14f - 0x1p-25f, 0x3FFp-24f, 1e-9f, -0.f};
  const std::vector<std::uint16_t> wanted = {0x3C00, 0x3C00, 0x3C02, 0xFBFF, 0x7BFF, 0x7BFF, 0xFBFF,
                                             0x0001, 0x0000, 0x0002, 0x0400, 0x03FF, 0x0000, 0x8000};
  const Coded coded = code(*device, {Code::fp16}, x.size(), x);
  std::vector<std::uint16_t> halves(x.size());
  std::memcpy(halves.data(), coded.packed.data(), 2 * halves.size());
  CHECK(halves == wanted);
  CHECK(coded.decoded[7] == 0x1p-24f);
}

TEST_CASE("every half and every bfloat16 is decoded alike and survives being coded again", "[backend]") {
  const Code short_float = GENERATE(Code::fp16, Code::bf16);
  const std::size_t count = 1 << 16;
  std::vector<std::uint16_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<std::vector<float>> decoded;
  for (const char* name : {"reference", "cpu"}) {
    const auto device = make_device(name);
    decoded.push_back(poisoned(count));
    device->dequantise({short_float}, count, 1, std::as_bytes(std::span(all)), 0, decoded.back());
    std::vector<std::uint16_t> again(count);
    device->quantise({short_float}, count, 1, decoded.back(), {}, std::as_writable_bytes(std::span(again)));
    for (std::size_t i = 0; i < count; ++i) {
      const bool finite = std::isfinite(decoded.back()[i]);
      if (finite) REQUIRE(again[i] == all[i]);
    }
  }
  CHECK(same_bits(decoded[0], decoded[1]));
}

TEST_CASE("cpu and reference round any float alike to half precision and bfloat16", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  const std::size_t count = 1 << 20;
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(i) * 4099u);  // over all exponents
    x[i] = std::fpclassify(value) == FP_SUBNORMAL ? 0 : value;
  }
  for (const Code short_float : {Code::fp16, Code::bf16}) {
    const Coded mine = code(*cpu, {short_float}, count, x), theirs = code(*reference, {short_float}, count, x);
    CHECK(mine.packed == theirs.packed);
    CHECK(same_bits(mine.decoded, theirs.decoded));
  }
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

TEST_CASE("the work of quantise and dequantise is what they read and write", "[backend]") {
  const auto device = make_device("meta");
  core::Arena x = device->allocate(1024), residual = device->allocate(1024), packed = device->allocate(34);
  const auto bytes = std::as_writable_bytes(packed.span());
  device->quantise({}, 512, 2, x.span(), residual.span(), bytes);
  CHECK(device->meter().of(KernelKind::streaming) == Work{1, 4 * 1024, 3 * 4096 + 136});
  device->quantise({}, 512, 2, x.span(), {}, bytes);
  CHECK(device->meter().of(KernelKind::streaming) == Work{2, 6 * 1024, 4 * 4096 + 2 * 136});
  device->dequantise({}, 512, 2, bytes, 0, x.span());
  CHECK(device->meter().of(KernelKind::streaming) == Work{3, 7 * 1024, 5 * 4096 + 3 * 136});
  device->dequantise({}, 512, 2, bytes, 1, x.span());
  CHECK(device->meter().of(KernelKind::streaming) == Work{4, 9 * 1024, 7 * 4096 + 4 * 136});
}

TEST_CASE("quantise and dequantise refuse arrays of other sizes", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu", "meta"));
  std::vector<float> x(64);
  std::vector<std::byte> packed(2 * 8);
  CHECK_THROWS_AS(device->quantise({}, 33, 2, x, {}, packed), std::logic_error);
  CHECK_THROWS_AS(device->quantise({}, 32, 2, x, std::span(x).first(32), packed), std::logic_error);
  CHECK_THROWS_AS(device->quantise({}, 32, 2, x, {}, std::span(packed).first(12)), std::logic_error);
  CHECK_THROWS_AS(device->dequantise({}, 32, 2, packed, 0.5f, x), std::logic_error);
  CHECK_THROWS_AS(device->dequantise({}, 32, 1, packed, 0, x), std::logic_error);
}
