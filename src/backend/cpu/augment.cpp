#include <algorithm>

#include "backend/cpu/bodies.hpp"

namespace paragrad::backend::cpu {

void run(Workspace&, const Augment& kernel) {
  const std::size_t places = kernel.height * kernel.width, channels = kernel.channels;
  for (std::size_t image = 0; image < kernel.rows.size(); ++image) {
    const Augment::Draw draw = kernel.draw(image);
    const float* const x = kernel.x.data() + image * places * channels;
    float* y = kernel.y.data() + image * places * channels;
    for (std::size_t i = 0; i < kernel.height; ++i)
      for (std::size_t j = 0; j < kernel.width; ++j, y += channels)
        if (const std::size_t from = kernel.shown(draw, i, j); from == places)
          std::fill_n(y, channels, 0.f);
        else
          std::copy_n(x + from * channels, channels, y);
  }
}

}  // namespace paragrad::backend::cpu
