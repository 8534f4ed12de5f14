#include "nn/value.hpp"

#include <functional>
#include <numeric>

namespace paragrad::nn {

std::size_t Shape::size() const {
  return std::accumulate(extents.begin(), extents.end(), std::size_t{1}, std::multiplies<>());
}

std::string describe(const Shape& shape) {
  std::string text;
  for (const std::size_t extent : shape.extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

}  // namespace paragrad::nn
