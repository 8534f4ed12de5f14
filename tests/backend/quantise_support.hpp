#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "backend/kernels/quantise.hpp"
#include "tests/backend/support.hpp"

namespace paragrad::backend::testing {

inline const std::vector<Quantiser> quantisers = {{Code::bits1, false}, {Code::bits1, true}, {Code::bits2}, {Code::bits4},
                                                  {Code::bits8},        {Code::bits16},      {Code::fp16},  {Code::bf16},
                                                  {Code::bins2},        {Code::bins4},       {Code::e3m0}};
inline const std::vector<std::size_t> row_counts = {1, 2, 15, 31, 32, 33, 63, 64, 65, 512, 1000, 9001};

struct Coded {
  std::vector<std::byte> packed;
  std::vector<float> residual;  // as left by quantise
  std::vector<float> decoded;
  std::uint32_t saturated = 0;
};

/// What x + residual becomes; an empty residual stays empty.
inline Coded code(Device& device, const Quantiser& quantiser, std::size_t rows, const std::vector<float>& x,
                  std::vector<float> residual = {}) {
  const std::size_t columns = rows == 0 ? 0 : x.size() / rows;
  Coded coded{std::vector<std::byte>(quantiser.packed_bytes(rows, columns), std::byte{0xA5}), std::move(residual),
              poisoned(x.size())};
  device.run(Quantise{quantiser, rows, columns, x, coded.residual, coded.packed});
  device.run(Dequantise{quantiser, rows, columns, coded.packed, 0, coded.decoded});
  return coded;
}

inline std::uint32_t word(const std::vector<std::byte>& packed, std::size_t index) {
  std::uint32_t value;
  std::memcpy(&value, packed.data() + 4 * index, sizeof value);
  return value;
}

inline std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

/// Normally distributed, mean 0, deviation 1 (Box and Muller).
inline std::vector<float> normal_numbers(std::size_t count, std::uint32_t stream) {
  const auto a = random_numbers<double>(count, stream), b = random_numbers<double>(count, stream + 1000);
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>(std::sqrt(-2 * std::log((1 - a[i]) / 2)) * std::cos(3.14159265358979 * b[i]));
  return numbers;
}

/// Columns unlike each other: normal, none above 0, all 0, one element far from the others, alternating, around 3.
inline std::vector<float> columns_of_all_kinds(std::size_t rows, std::uint32_t stream) {
  std::vector<float> x = normal_numbers(6 * rows, stream);
  const auto column = [&](std::size_t j) { return std::span(x).subspan(j * rows, rows); };
  for (float& value : column(1)) value = -std::abs(value);
  for (float& value : column(2)) value = 0;
  column(3)[rows / 2] = 1000;
  for (std::size_t r = 0; r < rows; ++r) column(4)[r] = r % 2 ? 0.3f : -0.1f;
  for (float& value : column(5)) value += 3;
  return x;
}

inline double squared_error(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

}  // namespace paragrad::backend::testing
