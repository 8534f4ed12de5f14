#include "rbm/deep_belief_net.hpp"

#include "backend/kernels/affine.hpp"
#include "catch.hpp"
#include "core/errors.hpp"
#include "nn/model.hpp"
#include "tests/rbm/support.hpp"

using namespace paragrad;
using namespace paragrad::rbm;
using namespace paragrad::rbm::testing;

namespace {

/// Features and row numbers as a batch.
struct Rows {
  std::span<const float> x;
  std::vector<std::uint32_t> rows;
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(rows.size());

  data::Batch batch() const { return {.features = x, .labels = labels, .rows = rows}; }
};

const Draws of_second_layer{.seed = 2, .epoch = 1, .layer = 2, .layers = 3};

}  // namespace

TEST_CASE("every hidden layer is a machine, the output layer none", "[rbm]") {
  const auto machines = machines_of(nn::make_graph("6-5-4-3"), "6-5-4-3");
  REQUIRE(machines.size() == 2);
  CHECK(machines[0].visible == 6);
  CHECK(machines[0].hidden == 5);
  CHECK(machines[1].visible == 5);
  CHECK(machines[1].layer().size() == 24);
}

TEST_CASE("networks that are no stack of machines are refused", "[rbm]") {
  const auto refusal = [](const std::string& model) { return machines_of(nn::make_graph(model), model); };
  CHECK_THROWS_WITH(refusal("6-3"), contains_text("no hidden layer"));
  CHECK_THROWS_WITH(refusal("6-5-3:relu"), contains_text("choose :sigmoid"));
  CHECK_THROWS_WITH(refusal("zoo:alexnet"), contains_text("zoo:alexnet"));
  CHECK_THROWS_WITH(parse_activations("some"), contains_text("sampled"));
}

TEST_CASE("means of the layers below are what the network computes", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const nn::Graph network = nn::make_graph("6-5-4-3");
  std::vector<float> parameters(network.parameter_count());
  network.initialise(1, parameters);
  const auto x = random_numbers(8 * 6, 1);
  LayersBelow below(*device, network, 2, 2, Activations::mean, 8);
  REQUIRE(below.parameter_count() == 35 + 24);
  const Rows samples{x, rows_from(0, 8)};
  const auto seen = below.pass(*device, std::span(parameters).first(35 + 24), samples.batch(), of_second_layer);

  std::vector<float> h(8 * 5), expected(8 * 4);
  const std::span<const float> all(parameters);
  const auto sigmoid = backend::Activation::sigmoid;
  device->run(backend::AffineForward{8, 6, 5, x, all.first(30), all.subspan(30, 5), sigmoid, h});
  device->run(backend::AffineForward{8, 5, 4, h, all.subspan(35, 20), all.subspan(55, 4), sigmoid, expected});
  CHECK(std::vector<float>(seen.begin(), seen.end()) == expected);
}

TEST_CASE("states of the layers below are drawn by row, layer and epoch", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const nn::Graph network = nn::make_graph("6-50-40-3");
  std::vector<float> parameters = random_numbers(6 * 50 + 50 + 50 * 40 + 40, 1);
  const auto x = random_numbers(4 * 6, 1, 1);
  LayersBelow below(*device, network, 2, 3, Activations::sampled, 4);
  const auto states = [&](std::span<const float> samples, std::vector<std::uint32_t> rows, Draws by) {
    const Rows drawn{samples, rows};
    const auto seen = below.pass(*device, parameters, drawn.batch(), by);
    return std::vector<float>(seen.begin(), seen.end());
  };
  const auto all = states(x, {3, 8, 9, 1}, of_second_layer);
  CHECK(std::ranges::all_of(all, [](float v) { return v == 0 || v == 1; }));
  CHECK(states(std::span(x).subspan(12, 6), {9}, of_second_layer) ==
        std::vector<float>(all.begin() + 80, all.begin() + 120));
  Draws later = of_second_layer;
  later.epoch = 2;
  CHECK(states(x, {3, 8, 9, 1}, later) != all);
}

TEST_CASE("a machine without others below sees the data", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const auto x = random_numbers(12, 1);
  LayersBelow below(*device, nn::make_graph("6-5-4-3"), 0, 2, Activations::sampled, 2);
  const Rows samples{x, rows_from(0, 2)};
  const auto seen = below.pass(*device, {}, samples.batch(), of_second_layer);
  CHECK(seen.data() == x.data());
  CHECK(seen.size() == x.size());
}

TEST_CASE("machines learned one after the other raise what the lower bound of the net promises", "[rbm]") {
  // Two layers on bars; the upper machine is trained on what the lower one draws (Algorithm 2).
  const auto device = backend::make_device("cpu");
  const nn::Graph layers = nn::make_graph("4-4-3-2");
  const auto machines = machines_of(layers, "4-4-3-2");
  const Patterns data(4, {3, 12}, 30);
  const auto rows = rows_from(0, data.samples);
  const Rows samples{data.features, rows};
  std::vector<float> network(20 + 15);
  for (std::size_t l = 0; l < machines.size(); ++l) {
    LayersBelow below(*device, layers, l, 2, Activations::sampled, data.samples);
    const std::span<const float> lower = std::span(network).first(below.parameter_count());
    DeviceRbm rbm(*device, machines[l], {}, data.samples);
    std::vector<float> parameters(machines[l].parameter_count()), g(parameters.size());
    initialise(machines[l], 0.1, core::RandomStream(1, core::Purpose::initial_weights, static_cast<std::uint32_t>(l)),
               parameters);
    const auto error = [&] {
      const auto seen = below.pass(*device, lower, samples.batch(), {.seed = 1, .layer = 0, .layers = 2});
      return reconstruction_error(rbm, parameters, seen);
    };
    const double before = error();
    for (std::uint32_t epoch = 1; epoch < 800; ++epoch) {
      const Draws now{.seed = 1, .epoch = epoch, .layer = static_cast<std::uint32_t>(l), .layers = 2};
      contrast(rbm, parameters, below.pass(*device, lower, samples.batch(), now), rows, now);
      rbm.gradient({g, 0, nn::GradientSink::Descent{0.2f / 60, 0, parameters}}, nobody);
    }
    CHECK(error() < 0.5 * before);
    std::copy_n(parameters.begin(), machines[l].layer().size(),
                network.begin() + static_cast<std::ptrdiff_t>(below.parameter_count()));
  }
}
