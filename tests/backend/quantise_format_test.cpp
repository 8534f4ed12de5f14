// Quantised gradients: what is written, against hand-written bytes, and how much.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/code_formulas.hpp"
#include "backend/kernels/add_codes.hpp"
#include "catch.hpp"
#include "tests/backend/quantise_support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

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

TEST_CASE("e3m0 is a sign and the nearest power of two below the largest element, on every device", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const float largest = GENERATE(1.f, 3.f, 1e-20f, 1e20f);
  std::vector<float> x{largest, -largest, 0.f, -0.f}, wanted{largest, -largest, 0, 0};
  std::vector<std::uint32_t> codes{7, 15, 0, 0};
  for (std::uint32_t level = 1; level <= 7; ++level) {  // just inside the borders between levels, both signs
    const double value = std::ldexp(1., static_cast<int>(level) - 7),
                 border = std::ldexp(std::sqrt(0.5), static_cast<int>(level) - 7);
    for (const double ratio : {value, border * (1 + 3e-7), std::min(1., border * 2 * (1 - 3e-7))})
      for (const bool negative : {false, true}) {
        x.push_back(static_cast<float>((negative ? -ratio : ratio) * largest));
        wanted.push_back(static_cast<float>(negative ? -value : value) * largest);
        codes.push_back(level | (negative ? 8 : 0));
      }
  }
  for (const double nothing : {std::ldexp(std::sqrt(0.5), -6) * (1 - 3e-7), 1e-3, 1e-10}) {
    x.push_back(static_cast<float>(nothing * largest));
    wanted.push_back(0);
    codes.push_back(0);
  }
  const Coded coded = code(*device, {Code::e3m0}, x.size(), x, std::vector<float>(x.size()));
  REQUIRE(coded.packed.size() == 4 + 4 * ((x.size() + 7) / 8));
  CHECK(word(coded.packed, 0) == bits(largest));
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(i, x[i]);
    CHECK((word(coded.packed, 1 + i / 8) >> (4 * (i % 8)) & 15) == codes[i]);
    CHECK(coded.decoded[i] == wanted[i]);
    CHECK(coded.residual[i] == x[i] - wanted[i]);
  }
}

TEST_CASE("a NaN, or nothing but zeros and denormals, is no scale for powers of two", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const float value : code(*device, {Code::e3m0}, 3, {1, not_a_number, -2}).decoded) CHECK(std::isnan(value));
  CHECK(code(*device, {Code::e3m0}, 3, {0, 1e-40f, -1e-41f}).decoded == std::vector<float>(3));
}

TEST_CASE("bins are cut by mean and deviation, and stand for the means of what is in them", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  // Mean 0, squares 2 · (9 + 1) over 5 - 1: σ = √5. In 2 bits s = 3.354, in 4 bits 0.8385.
  const std::vector<float> x{-3, -1, 0, 1, 3};
  const Coded two = code(*device, {Code::bins2}, 5, x);
  REQUIRE(two.packed.size() == 16 + 4);
  CHECK(word(two.packed, 0) == bits(0));   // nothing is 1.5 s below the mean
  CHECK(word(two.packed, 1) == bits(-3));  // -3/s + 2 = 1.11
  CHECK(word(two.packed, 2) == bits(0));   // -1, 0, 1
  CHECK(word(two.packed, 3) == bits(3));   // 2.89
  CHECK(word(two.packed, 4) == (1 | 2 << 2 | 2 << 4 | 2 << 6 | 3 << 8));
  CHECK(two.decoded == std::vector<float>{-3, 0, 0, 0, 3});
  const Coded four = code(*device, {Code::bins4}, 5, x);
  REQUIRE(four.packed.size() == 64 + 4);
  CHECK(word(four.packed, 16) == (4 | 7 << 4 | 8 << 8 | 9 << 12 | 12 << 16));
  CHECK(four.decoded == x);
}

TEST_CASE("bins beyond three deviations are the last ones, and half a bin goes to the even one", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  // 64 elements of ±1 around a mean of 0 but for two of ±8: σ² = (62 + 128)/63, s = 1.5 σ = 2.605.
  std::vector<float> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 2 == 0 ? 1.f : -1.f;
  x[10] = 8;
  x[11] = -8;
  const Coded coded = code(*device, {Code::bins2}, 64, x);
  CHECK(word(coded.packed, 0) == bits(-8));
  CHECK(word(coded.packed, 1) == bits(0));
  CHECK(word(coded.packed, 3) == bits(8));
  CHECK(coded.decoded[10] == 8);
  CHECK(coded.decoded[11] == -8);
  // Four pairs of ±1.5 and one of ±3: σ = 2, s = 3. ±1.5 are 2.5 and 1.5 widths from the first bin, and both belong to
  // bin 2.
  const Coded halves = code(*device, {Code::bins2}, 10, {1.5f, -1.5f, 1.5f, -1.5f, 3, -3, 1.5f, -1.5f, 1.5f, -1.5f});
  CHECK(word(halves.packed, 1) == bits(-3));
  CHECK(word(halves.packed, 2) == bits(0));
  CHECK(word(halves.packed, 3) == bits(3));
  CHECK(word(halves.packed, 4) == 0b10'10'10'10'01'11'10'10'10'10);
}

TEST_CASE("bins of a constant column, of one element and of huge elements lose nothing", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const Code kind = GENERATE(Code::bins2, Code::bins4);
  for (const float value : {0.1f, -7.f, 3e38f, 1e-30f}) {
    CHECK(code(*device, {kind}, 1, {value}).decoded == std::vector<float>{value});
    for (const float decoded : code(*device, {kind}, 100, std::vector<float>(100, value)).decoded)
      CHECK(decoded == Approx(value).epsilon(1e-6));
  }
}

TEST_CASE("codes of 16 bits are added as the numbers that they stand for, and rounded", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const Code kind = GENERATE(Code::fp16, Code::bf16);
  const auto number = [&](std::uint16_t code) { return kind == Code::fp16 ? from_half(code) : from_bfloat16(code); };
  const auto pair = [](std::uint32_t low, std::uint32_t high) { return std::bit_cast<float>(low | high << 16); };
  const auto is_denormal = [&](std::uint32_t code) {  // as float32, which a device may take for 0
    return kind == Code::bf16 && (code & 0x7F80) == 0 && (code & 0x7F) != 0;
  };
  std::vector<float> from, to;
  std::vector<std::array<std::uint16_t, 2>> codes;
  for (std::uint32_t left = 0; left < 65536; left += 37)
    for (std::uint32_t right = left % 911; right < 65536; right += 911) {
      if (is_denormal(left) || is_denormal(right)) continue;
      codes.push_back({static_cast<std::uint16_t>(left), static_cast<std::uint16_t>(right)});
      from.push_back(pair(left, right));
      to.push_back(pair(right, left));
    }
  device->run(AddCodes{kind, from, to});
  device->finish();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const float exact = number(codes[i][0]) + number(codes[i][1]);
    if (exact != 0 && std::abs(exact) < std::numeric_limits<float>::min()) continue;
    const bool is_beyond = kind == Code::fp16 && std::abs(exact) >= 65520;
    const std::uint32_t word = std::bit_cast<std::uint32_t>(to[i]);
    for (const auto code : {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 16)}) {
      const float found = number(code);
      if (std::isnan(exact))
        wrong += !std::isnan(found);
      else if (is_beyond)
        wrong += !(std::isinf(found) && std::signbit(found) == std::signbit(exact));
      else if (exact == 0)
        wrong += code != 0;
      else
        wrong += code != (kind == Code::fp16 ? to_half(exact) : to_bfloat16(exact));
    }
  }
  CHECK(wrong == 0);
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
  CHECK(Quantiser{Code::e3m0}.packed_bytes(256, 3) == 3 * (4 + 128));  // 4.125 bits per element
  CHECK(Quantiser{Code::e3m0}.packed_bytes(9, 1) == 4 + 8);
  CHECK(Quantiser{Code::bins2}.packed_bytes(65536, 1) == 16 + 16384);
  CHECK(Quantiser{Code::bins4}.packed_bytes(3, 2) == 2 * 64 + 4);
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
