// Quantised gradients: the devices against each other, and one against itself elsewhere in memory.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/kernels/quantise.hpp"
#include "catch.hpp"
#include "tests/backend/quantise_support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

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
  for (const Code exact : {Code::bits16, Code::fp16, Code::bf16, Code::e3m0}) {
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

TEST_CASE("every half and every bfloat16 is decoded alike and survives being coded again", "[backend]") {
  const Code short_float = GENERATE(Code::fp16, Code::bf16);
  const std::size_t count = 1 << 16;
  std::vector<std::uint16_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<std::vector<float>> decoded;
  for (const char* name : {"reference", "cpu"}) {
    const auto device = make_device(name);
    decoded.push_back(poisoned(count));
    device->run(Dequantise{{short_float}, count, 1, std::as_bytes(std::span(all)), 0, decoded.back()});
    std::vector<std::uint16_t> again(count);
    device->run(Quantise{{short_float}, count, 1, decoded.back(), {}, std::as_writable_bytes(std::span(again))});
    for (std::size_t i = 0; i < count; ++i) {
      const bool finite = std::isfinite(decoded.back()[i]);
      if (finite) REQUIRE(again[i] == all[i]);
    }
  }
  CHECK(same_bits(decoded[0], decoded[1]));
}
