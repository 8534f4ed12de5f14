// 3x3 convolutions by Winograd's algorithm on the device cpu: their errors, and what they must not depend on.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/device.hpp"
#include "backend/kernels/convolution.hpp"
#include "catch.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

ConvolutionShape square_images(std::size_t rows, std::size_t channels, std::size_t side) {
  const WindowSteps steps{side, 3, side, 1, 1, 1};
  return {rows, channels, channels, steps, steps};
}

std::vector<double> in_double(std::span<const float> from) { return {from.begin(), from.end()}; }

/// Root mean square of the error of every 97th element, relative to that of the elements.
template <class Kernel>
double relative_error(const Kernel& in_double, std::span<const double> expected, std::span<const float> found) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); i += 97) {
    in_double.element(i);
    error += std::pow(static_cast<double>(found[i]) - expected[i], 2);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

}  // namespace

TEST_CASE("errors of 3x3 convolutions and their gradients are a few times those of plain sums", "[backend]") {
  const auto device = make_device("cpu");
  for (const auto& [channels, bound] : {std::pair<std::size_t, double>{16, 3e-6}, {64, 4e-6}, {256, 6e-6}}) {
    const ConvolutionShape shape = square_images(4, channels, 16);
    const std::size_t size = shape.rows * shape.image();
    auto x = random_numbers(size, 1);
    for (float& value : x) value = std::max(value, 0.f);  // as after ReLU
    const auto w = random_numbers(shape.filters(), 2), dy = random_numbers(size, 3);
    std::vector<float> y(size), dx(size), dw(shape.filters());
    device->run(ConvolutionForward{shape, x, w, {}, Activation::identity, y});
    device->run(ConvolutionBackwardInput{shape, dy, w, 0, Activation::identity, {}, dx});
    device->run(ConvolutionBackwardWeights{shape, x, dy, 0, dw});

    const auto x2 = in_double(x), w2 = in_double(w), dy2 = in_double(dy);
    std::vector<double> y2(size), dx2(size), dw2(shape.filters());
    CHECK(relative_error(ConvolutionForwardOf<double>{shape, x2, w2, {}, Activation::identity, y2}, y2, y) < bound);
    CHECK(relative_error(ConvolutionBackwardInputOf<double>{shape, dy2, w2, 0, Activation::identity, {}, dx2}, dx2, dx) <
          bound);
    CHECK(relative_error(ConvolutionBackwardWeightsOf<double>{shape, x2, dy2, 0, dw2}, dw2, dw) < bound);
  }
}

TEST_CASE("an image's outputs and gradient do not depend on how many images are in the minibatch", "[backend]") {
  const auto device = make_device("cpu");
  for (const std::size_t side : {7, 8, 13}) {
    const ConvolutionShape together = square_images(37, 32, side), alone = square_images(1, 32, side);
    const std::size_t size = alone.image();
    const auto x = random_numbers(together.rows * size, 1), w = random_numbers(together.filters(), 2);
    std::vector<float> y(x.size()), y_alone(x.size()), dx(x.size()), dx_alone(x.size());
    device->run(ConvolutionForward{together, x, w, {}, Activation::relu, y});
    device->run(ConvolutionBackwardInput{together, x, w, 0, Activation::identity, {}, dx});
    for (std::size_t row = 0; row < together.rows; ++row) {
      const auto of_row = [&](auto& values) { return std::span(values).subspan(row * size, size); };
      device->run(ConvolutionForward{alone, of_row(x), w, {}, Activation::relu, of_row(y_alone)});
      device->run(ConvolutionBackwardInput{alone, of_row(x), w, 0, Activation::identity, {}, of_row(dx_alone)});
    }
    CHECK(y == y_alone);
    CHECK(dx == dx_alone);
  }
}
