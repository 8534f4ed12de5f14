#include <algorithm>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

namespace paragrad::backend::cpu {

void run(Workspace&, const Concatenate& kernel) {
  const SideBySide& shape = kernel.shape;
  float* y = kernel.y.data();
  for (std::size_t row = 0; row < shape.rows; ++row)
    for (std::size_t i = 0; i < shape.count; ++i)
      y = std::copy_n(kernel.x[i].data() + row * shape.widths[i], shape.widths[i], y);
}

void run(Workspace&, const ConcatenateBackward& kernel) {
  const SideBySide& shape = kernel.shape;
  const std::size_t whole = shape.width();
  const float* begin = kernel.dy.data();
  for (std::size_t i = 0; i < shape.count; begin += shape.widths[i++]) {
    if (kernel.dx[i].empty()) continue;
    const std::size_t width = shape.widths[i];
    const float keep = kernel.keep[i];
    with_fused(kernel.f[i], [&]<Activation f>() {
      for (std::size_t row = 0; row < shape.rows; ++row) {
        const float* const dy = begin + row * whole;
        float* const dx = kernel.dx[i].data() + row * width;
        if (keep == 0)
          std::copy_n(dy, width, dx);
        else
          transform(
              width, dx, [&](Vector d, Vector old) { return keep * old + d; }, dy, dx);
        if constexpr (f != Activation::identity) transform(width, dx, times_slope<f>, dx, kernel.x[i].data() + row * width);
      }
    });
  }
}

}  // namespace paragrad::backend::cpu
