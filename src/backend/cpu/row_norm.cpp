#include <vector>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

// Rows are some hundred numbers: they are added up in vectors of float, lane by lane, and the lanes in double.
namespace paragrad::backend::cpu {
namespace {

/// The sum of f(x[i], …).
template <class F, class... Sources>
double sum_of(std::size_t count, const F& f, const Sources*... from) {
  Vector sums{};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) sums += f(load(from + i)...);
  double sum = 0;
  for (std::size_t l = 0; l < lanes; ++l) sum += static_cast<double>(sums[l]);
  if (i == count) return sum;
  const Vector rest = f(load_part(from + i, count - i)...);
  for (std::size_t l = 0; l < count - i; ++l) sum += static_cast<double>(rest[l]);
  return sum;
}

}  // namespace

void run(Workspace&, const RowNormForward& kernel) {
  const auto& [shape, epsilon, x, parameters, used, y] = kernel;
  const std::size_t width = shape.width;
  const float *const scales = parameters.data(), *const shifts = shape.shifted ? scales + width : nullptr;
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const float* const from = x.data() + row * width;
    const double mean = shape.centred ? sum_of(
                                            width, [](Vector v) { return v; }, from) /
                                            static_cast<double>(width)
                                      : 0;
    const float centre = static_cast<float>(mean);
    const double squares = sum_of(
        width, [&](Vector v) { return (v - centre) * (v - centre); }, from);
    kernel.use(row, mean, squares / static_cast<double>(width));
    const float factor = used[2 * row + 1];
    float* const to = y.data() + row * width;
    if (shifts == nullptr)
      transform(
          width, to, [&](Vector v, Vector scale) { return scale * ((v - centre) * factor); }, from, scales);
    else
      transform(
          width, to, [&](Vector v, Vector scale, Vector shift) { return scale * ((v - centre) * factor) + shift; }, from,
          scales, shifts);
  }
}

void run(Workspace&, const RowNormBackward& kernel) {
  const auto& [shape, x, parameters, used, dy, keep, dx] = kernel;
  const std::size_t width = shape.width;
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const float *const from = x.data() + row * width, *const d = dy.data() + row * width, *const scales = parameters.data();
    const float mean = used[2 * row], factor = used[2 * row + 1];
    const double along = sum_of(
        width, [&](Vector v, Vector of, Vector scale) { return of * scale * ((v - mean) * factor); }, from, d, scales);
    const double sum = shape.centred ? sum_of(
                                           width, [](Vector of, Vector scale) { return of * scale; }, d, scales)
                                     : 0;
    const float mean_along = static_cast<float>(along / static_cast<double>(width));
    const float mean_gradient = static_cast<float>(sum / static_cast<double>(width));
    float* const to = dx.data() + row * width;
    const auto gradient = [&](Vector v, Vector of, Vector scale) {
      return factor * (of * scale - mean_gradient - (v - mean) * factor * mean_along);
    };
    if (keep == 0)
      transform(width, to, gradient, from, d, scales);
    else
      transform(
          width, to,
          [&, keep = keep](Vector v, Vector of, Vector scale, Vector old) { return keep * old + gradient(v, of, scale); },
          from, d, scales, to);
  }
}

void run(Workspace&, const RowNormGradient& kernel) {
  const auto& [shape, x, used, dy, keep, dparameters] = kernel;
  const std::size_t width = shape.width;
  std::vector<double> along(width), sums(width);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const float *const from = x.data() + row * width, *const d = dy.data() + row * width;
    const float mean = used[2 * row], factor = used[2 * row + 1];
    for (std::size_t c = 0; c < width; ++c) along[c] += static_cast<double>(d[c] * ((from[c] - mean) * factor));
    for (std::size_t c = 0; c < width && shape.shifted; ++c) sums[c] += static_cast<double>(d[c]);
  }
  for (std::size_t c = 0; c < width; ++c) kernel.add_to_parameters(c, along[c], sums[c]);
}

}  // namespace paragrad::backend::cpu
