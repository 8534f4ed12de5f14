// The reference loops in double against central differences: they are the oracle of every other device.
#include "backend/reference/loops.hpp"
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
    reference::affine_forward(batch, in, hidden, x.data(), w1.data(), b1.data(), f1, h.data());
    reference::affine_forward(batch, hidden, classes, h.data(), w2.data(), b2.data(), f2, y.data());
    const Numbers output = y;
    const LossSum sum = softmax ? reference::softmax_cross_entropy(batch, classes, labels.data(), y.data())
                                : reference::squared_error(batch, classes, labels.data(), y.data());
    reference::activation_backward(f2, y.size(), output.data(), y.data());
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
  reference::affine_backward_weights(batch, hidden, classes, 0, hidden, net.h.data(), net.y.data(), 0., dw2.data());
  reference::bias_gradient(batch, classes, net.y.data(), 0., db2.data());
  reference::affine_backward_input(batch, hidden, classes, net.y.data(), net.w2.data(), net.h.data(), net.f1, dh.data());
  reference::affine_backward_weights(batch, in, hidden, 0, in, net.x.data(), dh.data(), 0., dw1.data());
  reference::bias_gradient(batch, hidden, dh.data(), 0., db1.data());
  reference::affine_backward_input(batch, in, hidden, dh.data(), net.w1.data(), net.x.data(), Activation::identity,
                                   dx.data());

  CHECK(distance(net.differences(net.w2), dw2) < 1e-8);
  CHECK(distance(net.differences(net.b2), db2) < 1e-8);
  CHECK(distance(net.differences(net.w1), dw1) < 1e-8);
  CHECK(distance(net.differences(net.b1), db1) < 1e-8);
  CHECK(distance(net.differences(net.x), dx) < 1e-8);
}
