// Model strings and initial weights.
#include "catch.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::nn;

namespace {

std::vector<std::size_t> widths_of(const std::string& model) {
  const Graph graph = make_graph(model);
  std::vector<std::size_t> widths;
  for (const Value& value : graph.values()) widths.push_back(value.type.size());
  return widths;
}

std::vector<float> initial(const std::string& model, std::uint64_t seed) {
  const Graph graph = make_graph(model);
  std::vector<float> parameters(graph.parameter_count(), 99.f);
  graph.initialise(seed, parameters);
  return parameters;
}

}  // namespace

TEST_CASE("a model string gives widths and activations", "[nn]") {
  using Widths = std::vector<std::size_t>;
  CHECK(widths_of("784-512-256-10") == Widths{784, 512, 256, 10});
  CHECK(widths_of("440-3x1024-1000:relu") == Widths{440, 1024, 1024, 1024, 1000});
  CHECK(widths_of("1x7-1") == Widths{7, 1});
  const Graph graph = make_graph("4-3-2:tanh");
  CHECK(graph.nodes()[0].op->activation() == backend::Activation::tanh);
  CHECK(graph.nodes()[1].op->activation() == backend::Activation::identity);  // the output layer is affine
  CHECK(make_graph("4-3-2").nodes()[0].op->activation() == backend::Activation::sigmoid);
}

TEST_CASE("an impossible model string is refused with the part that is wrong", "[nn]") {
  const auto [model, culprit] = GENERATE(table<std::string, std::string>({
      {"", "''"},
      {"784", "'784'"},
      {"784--10", "''"},
      {"784-10-", "''"},
      {"-784-10", "''"},
      {"784-10:foo", "'foo'"},
      {"784-10:", "''"},
      {"784-10:Sigmoid", "'Sigmoid'"},
      {"0-10", "'0'"},
      {"784-99999999999-10", "'99999999999'"},
      {"784-99999999999999999999999-10", "'99999999999999999999999'"},
      {"784-512-256-10:sigmoid:relu", "'sigmoid:relu'"},
      {"784-0x5-10", "'0x5'"},
      {"784-5x-10", "'5x'"},
      {"784-x5-10", "'x5'"},
      {"784-2x3x4-10", "'2x3x4'"},
      {"784-1001x5-10", "'1001x5'"},
      {"784-999x5-999x5", "more than 1000 layers"},
      {"784- 5-10", "' 5'"},
      {"784-+5-10", "'+5'"},
      {"784-5.5-10", "'5.5'"},
      {"mlp", "'mlp'"},
  }));
  CAPTURE(model);
  REQUIRE_THROWS_AS(make_graph(model), core::ConfigError);
  REQUIRE_THROWS_WITH(make_graph(model), contains_text(culprit) && contains_text("'" + model + "'"));
}

TEST_CASE("an unknown loss is refused with the known ones", "[nn]") {
  for (const std::string& name : loss_catalogue().names()) CHECK(loss_entry(name).info.name == name);
  REQUIRE_THROWS_WITH(loss_entry("hinge"), contains_text("hinge") && contains_text("squared_error"));
}

TEST_CASE("initial weights depend on the seed alone", "[nn]") {
  const auto first = initial("50-40-30-10", 1);
  CHECK(initial("50-40-30-10", 1) == first);
  CHECK(initial("50-40-30-10", 2) != first);
  // Layers of one shape do not share numbers.
  const auto equal = initial("20-20-20:tanh", 1);
  CHECK_FALSE(std::equal(equal.begin(), equal.begin() + 400, equal.begin() + 420));
}

TEST_CASE("initial weights have the spread of Glorot and Bengio, and of He for ReLU; biases are zero", "[nn]") {
  constexpr std::size_t in = 300, out = 200, weights = in * out;
  const auto [name, deviation, limit] = GENERATE(table<std::string, double, double>({
      {"tanh", std::sqrt(6. / 500) / std::sqrt(3.), std::sqrt(6. / 500)},
      {"sigmoid", 4 * std::sqrt(6. / 500) / std::sqrt(3.), 4 * std::sqrt(6. / 500)},
      {"relu", std::sqrt(2. / 300), 10.},
  }));
  const auto parameters = initial("300-200-1:" + name, 5);
  double sum = 0, squares = 0, most = 0;
  for (std::size_t i = 0; i < weights; ++i) {
    sum += parameters[i];
    squares += double{parameters[i]} * parameters[i];
    most = std::max(most, std::abs(double{parameters[i]}));
  }
  CHECK(std::abs(sum / weights) < 5 * deviation / std::sqrt(weights));
  CHECK(std::sqrt(squares / weights) == Approx(deviation).epsilon(0.015));
  CHECK(most <= limit);
  for (std::size_t i = weights; i < weights + out; ++i) REQUIRE(parameters[i] == 0);
  CHECK(parameters.back() == 0);
}
