#include "backend/cpu/sums.hpp"

#include <cstring>
#include <vector>

#include "backend/cpu/vector.hpp"
#include "backend/reference/loops.hpp"

namespace paragrad::backend::cpu {

namespace {

constexpr std::size_t terms = 32;  // partial sums
constexpr std::size_t doubles = lanes / 2;
using Doubles = double __attribute__((vector_size(sizeof(Vector))));
using Floats = float __attribute__((vector_size(sizeof(Vector) / 2)));

Doubles load_doubles(const float* from) {
  Floats floats;
  std::memcpy(&floats, from, sizeof floats);
  return __builtin_convertvector(floats, Doubles);
}

void add_products(const float* a, const float* b, Doubles (&sums)[terms / doubles]) {
  for (std::size_t p = 0; p < terms / doubles; ++p) sums[p] += load_doubles(a + p * doubles) * load_doubles(b + p * doubles);
}

}  // namespace

double dot(std::size_t count, const float* a, const float* b) {
  Doubles sums[terms / doubles] = {};
  std::size_t i = 0;
  for (; i + terms <= count; i += terms) add_products(a + i, b + i, sums);
  if (i < count) {
    float last_a[terms] = {}, last_b[terms] = {};
    std::memcpy(last_a, a + i, (count - i) * sizeof(float));
    std::memcpy(last_b, b + i, (count - i) * sizeof(float));
    add_products(last_a, last_b, sums);
  }
  double single[terms];
  std::memcpy(single, sums, sizeof single);
  for (std::size_t half = terms / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) single[l] += single[l + half];
  return single[0];
}

void orthonormalise(std::size_t rows, std::size_t rank, float* matrix) {
  std::vector<float> columns(rows * rank);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < rank; ++j) columns[j * rows + r] = matrix[r * rank + j];
  reference::orthonormalise_columns(
      rows, rank, columns.data(), [&](const float* a, const float* b) { return dot(rows, a, b); },
      [&](float factor, const float* from, float* to) {
        transform(
            rows, to, [&](Vector v, Vector q) { return v - factor * q; }, to, from);
      },
      [&](float factor, float* to) {
        transform(
            rows, to, [&](Vector v) { return v * factor; }, to);
      });
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < rank; ++j) matrix[r * rank + j] = columns[j * rows + r];
}

}  // namespace paragrad::backend::cpu
