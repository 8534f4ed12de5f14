#include "rbm/shape.hpp"

#include <algorithm>

namespace paragrad::rbm {

void initialise(const Shape& shape, double deviation, const core::RandomStream& random, std::span<float> parameters) {
  std::ranges::fill(parameters, 0.f);
  for (std::size_t i = 0; i < shape.weights().end; ++i) parameters[i] = static_cast<float>(deviation * random.normal(i));
}

}  // namespace paragrad::rbm
