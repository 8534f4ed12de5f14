#include <cmath>
#include <vector>

#include "backend/cpu/bodies.hpp"

// Angles are computed once for all rows and heads of a step.
namespace paragrad::backend::cpu {

void run(Workspace&, const Rotate& kernel) {
  const std::size_t pairs = kernel.width / 2, of_row = 3 * kernel.heads * pairs;
  std::vector<float> cosines(pairs), sines(pairs);
  for (std::size_t step = 0; step < kernel.rows.steps; ++step) {
    for (std::size_t p = 0; p < pairs; ++p) {
      cosines[p] = static_cast<float>(std::cos(kernel.angle_of(step, p)));
      sines[p] = static_cast<float>(std::sin(kernel.angle_of(step, p)));
    }
    for (std::size_t s = 0; s < kernel.rows.sequences; ++s) {
      const std::size_t first = kernel.rows.row(step, s) * of_row;
      for (std::size_t head = 0; head < 2 * kernel.heads; ++head)
        for (std::size_t p = 0; p < pairs; ++p) kernel.turn(first + head * pairs + p, cosines[p], sines[p]);
      for (std::size_t i = first + 2 * kernel.heads * pairs; i < first + of_row; ++i)
        kernel.write(i, kernel.x[2 * i], kernel.x[2 * i + 1]);
    }
  }
}

}  // namespace paragrad::backend::cpu
