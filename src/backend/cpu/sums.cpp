#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

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

/// In double. The order of the additions depends on `count` alone, also on other instruction sets.
/// Σ term(from_1[i], from_2[i], …), where the term of zeros is 0.
template <class Term, class... Sources>
double sum(std::size_t count, const Term& term, const Sources*... from) {
  Doubles sums[terms / doubles] = {};
  const auto add = [&](const Sources*... at) {
    for (std::size_t p = 0; p < terms / doubles; ++p) sums[p] += term(load_doubles(at + p * doubles)...);
  };
  std::size_t i = 0;
  for (; i + terms <= count; i += terms) add(from + i...);
  if (i < count) {
    const auto padded = [&](const float* rest) {
      std::array<float, terms> whole{};
      std::memcpy(whole.data(), rest, (count - i) * sizeof(float));
      return whole;
    };
    add(padded(from + i).data()...);
  }
  double single[terms];
  std::memcpy(single, sums, sizeof single);
  for (std::size_t half = terms / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) single[l] += single[l + half];
  return single[0];
}

Vector softplus(Vector x) {
  const Vector size = x < 0.f ? -x : x;
  return (x < 0.f ? Vector{} : x) + logarithm(1.f + exponential(-size));  // NaN stays NaN
}

double dot(std::size_t count, const float* a, const float* b) {
  return sum(
      count, [](Doubles x, Doubles y) { return x * y; }, a, b);
}

}  // namespace

void run(Workspace&, const Dot& kernel) {
  *kernel.into += kernel.weight * dot(kernel.a.size(), kernel.a.data(), kernel.b.data());
}

void run(Workspace&, const SquaredNorm& kernel) {
  *kernel.into += kernel.weight * dot(kernel.x.size(), kernel.x.data(), kernel.x.data());
}

void run(Workspace&, const SquaredDistance& kernel) {
  const auto squared = [](Doubles x, Doubles y) { return (x - y) * (x - y); };
  *kernel.into += kernel.weight * sum(kernel.a.size(), squared, kernel.a.data(), kernel.b.data());
}

void run(Workspace&, const SoftplusSum& kernel) {
  const std::size_t count = kernel.x.size();
  const float* const x = kernel.x.data();
  std::array<float, 1024> values;
  double total = 0;
  for (std::size_t begin = 0; begin < count; begin += values.size()) {
    const std::size_t part = std::min(values.size(), count - begin);
    transform(part, values.data(), softplus, x + begin);
    total += sum(
        part, [](Doubles value) { return value; }, values.data());
  }
  *kernel.into += kernel.weight * total;
}

// On a copy whose columns are contiguous.
void run(Workspace&, const Orthonormalise& kernel) {
  const auto& [rows, rank, matrix] = kernel;
  std::vector<float> columns(rows * rank);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < rank; ++j) columns[j * rows + r] = matrix[r * rank + j];
  orthonormalise_columns(
      rows, rank, columns.data(), [&](const float* a, const float* b) { return dot(rows, a, b); },
      [&](float factor, const float* from, float* to) {
        transform(
            rows, to, [&](Vector v, Vector q) { return v - factor * q; }, to, from);
      },
      [&](float factor, float* to) {
        transform(
            rows, to, [&](Vector v) { return v * factor; }, to);
      },
      [&](std::size_t j, float* to) {
        for (std::size_t r = 0; r < rows; ++r) to[r] = direction_element(r, j);
      });
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < rank; ++j) matrix[r * rank + j] = columns[j * rows + r];
}

}  // namespace paragrad::backend::cpu
