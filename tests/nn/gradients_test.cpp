#include <algorithm>
#include <limits>

#include "backend/kernels/descend.hpp"
#include "catch.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::nn;
using namespace paragrad::nn::testing;

namespace {

const std::vector<std::size_t> widths{7, 6, 5, 4};
const auto nothing = [](core::Range) {};

struct Net {
  std::unique_ptr<backend::Device> device;
  Model model;
  std::vector<float> parameters;

  Net(const std::string& device_name, const std::string& layers, std::size_t max_batch = 16)
      : device(backend::make_device(device_name)),
        model(*device, make_graph(layers), max_batch),
        parameters(model.parameter_count()) {
    model.graph().initialise(3, parameters);
    // Biases that are not zero, so that their gradients are tested too.
    const core::RandomStream random(8, core::Purpose::generator);
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] += static_cast<float>(0.1 * random.normal(i));
  }

  double accumulate(const data::Batch& batch, const std::string& kind, float keep, std::vector<float>& into) {
    model.forward(*device, parameters, batch);
    const double loss = loss_of(*device, model, kind, batch);
    model.backward(*device, parameters, batch, {into, keep}, nothing);
    return loss;
  }
};

double largest(const std::vector<float>& a, const std::vector<float>& b) {
  double result = 0;
  for (std::size_t i = 0; i < a.size(); ++i) result = std::max(result, std::abs(double{a[i]} - double{b[i]}));
  return result;
}

}  // namespace

TEST_CASE("a model's gradient is the derivative of its loss", "[nn]") {
  const auto [name, f] = GENERATE(table<std::string, backend::Activation>({{"sigmoid", backend::Activation::sigmoid},
                                                                           {"tanh", backend::Activation::tanh},
                                                                           {"relu", backend::Activation::relu}}));
  const std::string kind = GENERATE("cross_entropy", "squared_error");
  const std::size_t batch = GENERATE(1u, 5u);
  const std::string device = GENERATE("reference", "cpu");
  CAPTURE(name, kind, batch, device);
  Net net(device, "7-6-5-4:" + name);
  const Samples samples(batch, 7, 4);
  std::vector<float> gradient(net.parameters.size(), std::numeric_limits<float>::quiet_NaN());  // keep 0 overwrites NaN
  const double loss = net.accumulate(samples.batch(), kind, 0, gradient);

  std::vector<double> at(net.parameters.begin(), net.parameters.end());
  CHECK(loss == Approx(loss_in_double(widths, f, kind, at, samples)).epsilon(1e-5));
  double worst = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double here = at[i], h = 1e-6;
    at[i] = here + h;
    const double above = loss_in_double(widths, f, kind, at, samples);
    at[i] = here - h;
    const double below = loss_in_double(widths, f, kind, at, samples);
    at[i] = here;
    const double error = std::abs((above - below) / (2 * h) - double{gradient[i]});
    worst = std::max(worst, std::isnan(error) ? 1e9 : error);
  }
  CHECK(worst < 2e-5);
}

TEST_CASE("gradients accumulate: into becomes keep * into + gradient", "[nn]") {
  const std::string device = GENERATE("reference", "cpu");
  Net net(device, "7-6-5-4:tanh");
  const Samples samples(5, 7, 4);
  std::vector<float> bare(net.parameters.size()), kept(net.parameters.size());
  net.accumulate(samples.batch(), "cross_entropy", 0, bare);
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = static_cast<float>(i % 7) - 3;
  std::vector<float> expected = kept;
  for (std::size_t i = 0; i < kept.size(); ++i) expected[i] = 0.9f * kept[i] + bare[i];
  net.accumulate(samples.batch(), "cross_entropy", 0.9f, kept);
  CHECK(largest(kept, expected) < 2e-6);
}

TEST_CASE("two parts of a minibatch give the gradient and the loss of the whole", "[nn]") {
  const std::string device = GENERATE("reference", "cpu");
  const std::size_t cut = GENERATE(1u, 5u, 8u);
  Net net(device, "7-2x6-4:relu");
  const Samples samples(9, 7, 4);
  std::vector<float> whole(net.parameters.size()), parts(net.parameters.size());
  const double loss = net.accumulate(samples.batch(), "cross_entropy", 0, whole);
  const double first = net.accumulate(samples.part(0, cut), "cross_entropy", 0, parts);
  const double second = net.accumulate(samples.part(cut, 9), "cross_entropy", 1, parts);
  CHECK(first + second == Approx(loss).epsilon(1e-6));
  CHECK(largest(whole, parts) < 5e-6);
}

TEST_CASE("finished ranges cover every parameter exactly once, the last layer first", "[nn]") {
  const bool descends = GENERATE(false, true);
  Net net("cpu", "700-600-5-4:tanh");  // the first layer is more than one panel
  const Samples samples(3, 700, 4);
  std::vector<float> gradient(net.parameters.size()), moving = net.parameters;
  const std::vector<std::size_t> starts{0, 700 * 600 + 600, 700 * 600 + 600 + 600 * 5 + 5};
  net.model.forward(*net.device, moving, samples.batch());
  loss_of(*net.device, net.model, "cross_entropy", samples.batch());
  std::vector<int> covered(gradient.size());
  std::vector<std::size_t> layers;
  GradientSink sink{gradient, 0};
  if (descends) sink.descent = GradientSink::Descent{0.1f, 0, moving};
  net.model.backward(*net.device, moving, samples.batch(), sink, [&](core::Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) ++covered[i];
    std::size_t layer = 0;
    while (layer + 1 < starts.size() && starts[layer + 1] <= range.begin) ++layer;
    CHECK(range.end <= (layer + 1 < starts.size() ? starts[layer + 1] : gradient.size()));  // within one layer
    layers.push_back(layer);
  });
  CHECK(covered == std::vector<int>(covered.size(), 1));
  CHECK(std::is_sorted(layers.rbegin(), layers.rend()));
  if (!descends) CHECK(layers.size() > 4);
}

TEST_CASE("descending during backward moves the parameters as descending afterwards", "[nn]") {
  const float decay = GENERATE(0.f, 0.3f);
  const float keep = GENERATE(0.f, 0.9f);
  Net net("cpu", "7-6-5-4:sigmoid");
  const Samples samples(5, 7, 4);
  std::vector<float> apart = net.parameters, together = net.parameters;
  std::vector<float> d_apart(apart.size(), 0.5f), d_together = d_apart;
  for (int step = 0; step < 3; ++step) {
    net.model.forward(*net.device, apart, samples.batch());
    loss_of(*net.device, net.model, "cross_entropy", samples.batch());
    net.model.backward(*net.device, apart, samples.batch(), {d_apart, keep}, nothing);
    net.device->run(backend::Descend{0.2f, decay, d_apart, apart});
    net.model.forward(*net.device, together, samples.batch());
    loss_of(*net.device, net.model, "cross_entropy", samples.batch());
    net.model.backward(*net.device, together, samples.batch(),
                       {d_together, keep, GradientSink::Descent{0.2f, decay, together}}, nothing);
  }
  CHECK(together == apart);
  CHECK(d_together == d_apart);
}

TEST_CASE("parameters may change as soon as their range is finished", "[nn]") {
  Net net("cpu", "7-6-5-4:tanh");
  const Samples samples(5, 7, 4);
  std::vector<float> expected(net.parameters.size()), gradient(net.parameters.size());
  net.accumulate(samples.batch(), "cross_entropy", 0, expected);
  net.model.forward(*net.device, net.parameters, samples.batch());
  loss_of(*net.device, net.model, "cross_entropy", samples.batch());
  net.model.backward(*net.device, net.parameters, samples.batch(), {gradient, 0}, [&](core::Range range) {
    for (float& w : range.of(std::span(net.parameters))) w = std::numeric_limits<float>::quiet_NaN();
  });
  CHECK(gradient == expected);
}

TEST_CASE("a minibatch larger than the model was made for is a broken contract", "[nn]") {
  Net net("cpu", "7-4", 4);
  CHECK_THROWS_AS(net.model.forward(*net.device, net.parameters, Samples(5, 7, 4).batch()), std::logic_error);
}
