#include <algorithm>
#include <vector>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

// Loops that a few lines make faster than the compiler's: vectors to the last element, and the library's copies.
namespace paragrad::backend::cpu {

void run(Workspace&, const Fill& kernel) { std::ranges::fill(kernel.x, kernel.value); }

void run(Workspace&, const Copy& kernel) { std::ranges::copy(kernel.from, kernel.to.begin()); }

void run(Workspace&, const CopyColumns& kernel) {
  for (std::size_t r = 0; r < kernel.rows; ++r)
    std::copy_n(kernel.from.data() + r * kernel.from_width, kernel.columns, kernel.to.data() + r * kernel.to_width);
}

void run(Workspace&, const Scale& kernel) {
  transform(
      kernel.x.size(), kernel.x.data(), [&](Vector v) { return v * kernel.factor; }, kernel.x.data());
}

void run(Workspace&, const Add& kernel) {
  transform(
      kernel.to.size(), kernel.to.data(), [](Vector a, Vector b) { return a + b; }, kernel.to.data(), kernel.from.data());
}

void run(Workspace&, const Sum& kernel) {
  with_fused(kernel.f, [&]<Activation f>() {
    transform(
        kernel.y.size(), kernel.y.data(), [](Vector a, Vector b) { return activate<f>(a + b); }, kernel.a.data(),
        kernel.b.data());
  });
}

void run(Workspace&, const SumBackward& kernel) {
  const auto add_to = [&](float keep, std::span<float> to) {
    if (keep == 0)
      std::ranges::copy(kernel.dy, to.begin());
    else
      transform(
          to.size(), to.data(), [&](Vector d, Vector old) { return d + keep * old; }, kernel.dy.data(), to.data());
  };
  add_to(kernel.keep_a, kernel.da);
  add_to(kernel.keep_b, kernel.db);
}

void run(Workspace&, const LookAhead& kernel) {
  const float ahead = kernel.ahead;
  transform(
      kernel.to.size(), kernel.to.data(), [&](Vector v, Vector d) { return v + ahead * d; }, kernel.w.data(),
      kernel.delta.data());
}

void run(Workspace&, const ActivationBackward& kernel) {
  with_fused(kernel.f, [&]<Activation f>() {
    transform(kernel.dz.size(), kernel.dz.data(), times_slope<f>, kernel.dz.data(), kernel.y.data());
  });
}

// Column by column, as they lie in memory.
void run(Workspace&, const LimitRowNorms& kernel) {
  const auto& [rows, columns, limit, w] = kernel;
  std::vector<double> squares(rows, 0.0);
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < rows; ++r)
      squares[r] += static_cast<double>(w[c * rows + r]) * static_cast<double>(w[c * rows + r]);
  std::vector<float> factors(rows);
  for (std::size_t r = 0; r < rows; ++r) factors[r] = kernel.factor_of(squares[r]);
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < rows; ++r) w[c * rows + r] *= factors[r];
}

}  // namespace paragrad::backend::cpu
