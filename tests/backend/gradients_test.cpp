// The reference loops in double against central differences: they are the oracle of every other device.
#include "backend/kernels/affine.hpp"
#include "backend/kernels/bias_gradient.hpp"
#include "backend/kernels/losses.hpp"
#include "catch.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

constexpr std::size_t batch = 4, in = 5, hidden = 6, classes = 3;
using Numbers = std::vector<double>;

/// A net of two layers with everything its gradient needs.
struct Net {
  Numbers x = random_numbers<double>(batch * in, 1);
  Numbers w1 = random_numbers<double>(in * hidden, 2), b1 = random_numbers<double>(hidden, 3);
  Numbers w2 = random_numbers<double>(hidden * classes, 4), b2 = random_numbers<double>(classes, 5);
  std::vector<std::int32_t> labels = random_labels(batch, classes);
  Activation f1, f2;
  bool softmax;
  Numbers h = Numbers(batch * hidden), y = Numbers(batch * classes);

  /// Leaves the loss' gradient in y.
  double loss() {
    run_reference(AffineForwardOf<double>{batch, in, hidden, x, w1, b1, f1, h});
    run_reference(AffineForwardOf<double>{batch, hidden, classes, h, w2, b2, f2, y});
    const Numbers output = y;
    LossSum sum;
    if (softmax)
      run_reference(SoftmaxCrossEntropyOf<double>{batch, classes, labels, y, &sum});
    else
      run_reference(SquaredErrorOf<double>{batch, classes, labels, y, &sum});
    run_reference(ActivationBackwardOf<double>{f2, output, y});
    return sum.loss;
  }

  Numbers differences(Numbers& values) {
    Numbers result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double before = values[i], step = 1e-5;
      values[i] = before + step;
      const double above = loss();
      values[i] = before - step;
      result[i] = (above - loss()) / (2 * step);
      values[i] = before;
    }
    return result;
  }
};

}  // namespace

TEST_CASE("reference gradients agree with central differences in double", "[backend]") {
  Net net;
  net.f1 = GENERATE(Activation::identity, Activation::sigmoid, Activation::tanh, Activation::relu);
  net.f2 = GENERATE(Activation::identity, Activation::sigmoid);
  net.softmax = GENERATE(true, false);

  net.loss();
  Numbers dw2(hidden * classes), db2(classes), dh(batch * hidden), dw1(in * hidden), db1(hidden), dx(batch * in);
  run_reference(AffineBackwardWeightsOf<double>{batch, hidden, classes, 0, hidden, net.h, net.y, 0, dw2});
  run_reference(BiasGradientOf<double>{batch, classes, net.y, 0, db2});
  run_reference(AffineBackwardInputOf<double>{batch, hidden, classes, net.y, net.w2, net.h, net.f1, dh});
  run_reference(AffineBackwardWeightsOf<double>{batch, in, hidden, 0, in, net.x, dh, 0, dw1});
  run_reference(BiasGradientOf<double>{batch, hidden, dh, 0, db1});
  run_reference(AffineBackwardInputOf<double>{batch, in, hidden, dh, net.w1, net.x, Activation::identity, dx});

  CHECK(distance(net.differences(net.w2), dw2) < 1e-8);
  CHECK(distance(net.differences(net.b2), db2) < 1e-8);
  CHECK(distance(net.differences(net.w1), dw1) < 1e-8);
  CHECK(distance(net.differences(net.b1), db1) < 1e-8);
  CHECK(distance(net.differences(net.x), dx) < 1e-8);
}
