// A network with recurrent layers against the same in double, and its gradient against differences of that.
#include "backend/kernels/lstm.hpp"

#include <limits>

#include "backend/kernels/ctc.hpp"
#include "backend/kernels/descend.hpp"
#include "catch.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::nn;
using namespace paragrad::nn::testing;

namespace {

const std::vector<std::uint32_t> active{3, 3, 2, 1};
constexpr std::size_t frames = 9, features = 4, classes = 3;
const std::vector<std::int32_t> tokens{0, 1, -1, 0, -1, -1, -1, -1, -1};  // of the three sequences: 0 0, 1 and nothing
using Numbers = std::vector<double>;

/// W·x + b, then the layer over all frames; `at` walks through the parameters.
Numbers recurrent_layer(const backend::LstmShape& shape, const Numbers& x, const double*& at) {
  const std::size_t in = x.size() / frames, gates = shape.gate_width();
  Numbers z(frames * gates), c(frames * shape.cell_width()), m(frames * shape.hidden_width()),
      y(frames * shape.output_width());
  const auto next = [&](std::size_t count) {
    at += count;
    return std::span<const double>(at - count, count);
  };
  const auto w = next(in * gates), bias = next(gates);
  backend::run_reference(backend::AffineForwardOf<double>{frames, in, gates, x, w, bias, backend::Activation::identity, z});
  const auto recurrent = next(shape.recurrent_size()), peepholes = next(shape.peephole_size()),
             projection = next(shape.projection_size());
  backend::run_reference(
      backend::LstmForwardOf<double>{shape, backend::Steps(active), {recurrent, peepholes, projection}, {z, c, m}, y});
  return y;
}

double loss_in_double(const std::string& kind, const std::vector<backend::LstmShape>& shapes, const Numbers& parameters,
                      const Samples& samples) {
  const auto batch = samples.batch();
  Numbers x(batch.features.begin(), batch.features.end());
  const double* at = parameters.data();
  for (const backend::LstmShape& shape : shapes) x = recurrent_layer(shape, x, at);
  const std::size_t in = x.size() / frames;
  Numbers logits(frames * classes);
  backend::run_reference(backend::AffineForwardOf<double>{
      frames, in, classes, x, {at, in * classes}, {at + in * classes, classes}, backend::Activation::identity, logits});
  backend::LossSum sum;
  if (kind == "ctc")
    backend::run_reference(backend::CtcOf<double>{classes, backend::Steps(active), tokens, logits, &sum});
  else
    backend::run_reference(backend::SoftmaxCrossEntropyOf<double>{frames, classes, batch.labels, logits, &sum});
  return sum.loss;
}

data::Batch sequences(const Samples& samples) {
  data::Batch batch = samples.batch();
  batch.active = active;
  return batch;
}

}  // namespace

TEST_CASE("the gradient of a network with recurrent layers is the derivative of its loss", "[nn]") {
  struct Case {
    std::string model;
    std::vector<backend::LstmShape> shapes;
  };
  const auto [text, shapes] = GENERATE(
      Case{"4-lstm5-3", {{5, 5, 1, false, false}}}, Case{"4-2xblstm3-3", {{3, 3, 2, false, false}, {3, 3, 2, false, false}}},
      Case{"4-blstm5p2+peepholes-3", {{5, 2, 2, true, true}}},
      Case{"4-lstm4+peepholes-blstm3p2-3", {{4, 4, 1, true, false}, {3, 2, 2, false, true}}});
  const std::string name = GENERATE("reference", "cpu");
  const std::string kind = GENERATE("cross_entropy", "ctc");
  CAPTURE(text, name);
  const auto device = backend::make_device(name);
  Model model(*device, make_graph(text), frames);
  std::vector<float> parameters(model.parameter_count());
  model.graph().initialise(5, parameters);
  const core::RandomStream random(8, core::Purpose::generator);
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] += static_cast<float>(0.3 * random.normal(i));

  const Samples samples(frames, features, classes);
  data::Batch batch = sequences(samples);
  if (kind == "ctc") batch.labels = tokens;
  std::vector<float> gradient(parameters.size(), std::numeric_limits<float>::quiet_NaN());
  model.forward(*device, parameters, batch);
  const double loss = loss_of(*device, model, kind, batch);
  model.backward(*device, parameters, batch, {gradient, 0}, [](core::Range) {});

  Numbers at(parameters.begin(), parameters.end());
  CHECK(loss == Approx(loss_in_double(kind, shapes, at, samples)).epsilon(1e-5));
  double worst = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double here = at[i], h = 1e-6;
    at[i] = here + h;
    const double above = loss_in_double(kind, shapes, at, samples);
    at[i] = here - h;
    const double below = loss_in_double(kind, shapes, at, samples);
    at[i] = here;
    const double error = std::abs((above - below) / (2 * h) - double{gradient[i]});
    worst = std::max(worst, std::isnan(error) ? 1e9 : error);
  }
  CHECK(worst < 2e-5);
}

TEST_CASE("a minibatch of sequences of unequal length gives each the outputs that it has alone, bit for bit", "[nn]") {
  const auto device = backend::make_device(GENERATE("reference", "cpu"));
  Model model(*device, make_graph("4-2xblstm5p2+peepholes-3"), frames);
  std::vector<float> parameters(model.parameter_count());
  model.graph().initialise(5, parameters);
  const Samples samples(frames, features, classes);
  const data::Batch batch = sequences(samples);
  const auto outputs = model.forward(*device, parameters, batch);
  const std::vector<float> together(outputs.begin(), outputs.end());
  for (std::uint32_t s = 0; s < active[0]; ++s) {
    std::vector<float> x, expected;
    std::vector<std::uint32_t> ones;
    for (std::size_t t = 0, place = s; t < active.size() && active[t] > s; place += active[t++]) {
      const auto row = [&](std::span<const float> all, std::size_t width, std::vector<float>& to) {
        to.insert(to.end(), all.begin() + static_cast<std::ptrdiff_t>(place * width),
                  all.begin() + static_cast<std::ptrdiff_t>((place + 1) * width));
      };
      row(batch.features, features, x);
      row(together, classes, expected);
      ones.push_back(1);
    }
    const data::Batch alone{.features = x, .labels = batch.labels.first(ones.size()), .active = ones};
    const auto found = model.forward(*device, parameters, alone);
    CHECK(std::vector<float>(found.begin(), found.end()) == expected);
  }
}

TEST_CASE("descending during backward moves recurrent layers as descending afterwards", "[nn]") {
  const auto device = backend::make_device("cpu");
  Model model(*device, make_graph("4-blstm5+peepholes-3"), frames);
  std::vector<float> apart(model.parameter_count());
  model.graph().initialise(5, apart);
  std::vector<float> together = apart, d_apart(apart.size(), 0.5f), d_together = d_apart;
  const Samples samples(frames, features, classes);
  const data::Batch batch = sequences(samples);
  const auto pass = [&](std::vector<float>& parameters, GradientSink sink) {
    model.forward(*device, parameters, batch);
    loss_of(*device, model, "cross_entropy", batch);
    model.backward(*device, parameters, batch, sink, [](core::Range) {});
  };
  for (int step = 0; step < 3; ++step) {
    pass(apart, {d_apart, 0.9f});
    device->run(backend::Descend{0.2f, 0.1f, d_apart, apart});
    pass(together, {d_together, 0.9f, GradientSink::Descent{0.2f, 0.1f, together}});
  }
  CHECK(together == apart);
  CHECK(d_together == d_apart);
}

TEST_CASE("a recurrent layer's parameters are what its matrices say, finished once each", "[nn]") {
  const Graph graph = make_graph("4-blstm5p2+peepholes-3");
  const Node& layer = graph.nodes().front();
  std::size_t elements = 0;
  for (const core::Matrix& matrix : graph.layout().first(8)) elements += matrix.shape.size();
  CHECK(elements == layer.owned.size());
  CHECK(layer.owned.size() == 4 * 40 + 40 + 2 * (2 * 20 + 15 + 10));
  CHECK(graph.values()[layer.outputs[0]].type.size() == 4);
  std::vector<float> parameters(graph.parameter_count());
  graph.initialise(1, parameters);
  for (std::size_t j = 0; j < 40; ++j) CHECK(parameters[160 + j] == (j / 5 % 4 == 1 ? 1.f : 0.f));
}

TEST_CASE("a recurrent layer that cannot be meant is refused", "[nn]") {
  const std::string text =
      GENERATE("4-lstm-3", "4-lstm5", "lstm5-3", "4-lstm0-3", "4-lstm5p-3", "4-lstm5+hats-3", "4-gru5-3", "4-xlstm5-3");
  CAPTURE(text);
  CHECK_THROWS_AS(make_graph(text), core::ConfigError);
}
