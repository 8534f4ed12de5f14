#include "rbm/rbm.hpp"

#include <set>

#include "backend/kernels/affine.hpp"
#include "backend/kernels/descend.hpp"
#include "catch.hpp"
#include "core/errors.hpp"
#include "tests/rbm/support.hpp"

using namespace paragrad;
using namespace paragrad::rbm;
using namespace paragrad::rbm::testing;

namespace {

constexpr std::size_t samples = 24, visible = 70, hidden = 33;
const Draws draws{.seed = 5, .epoch = 2, .layer = 1, .layers = 3};

struct Case {
  Shape shape{visible, hidden};
  std::vector<float> parameters = random_numbers(shape.parameter_count(), 0.5f, 1);
  std::vector<float> v = random_numbers(samples * visible, 1, 2);
  std::vector<std::uint32_t> rows = rows_from(1000, samples);

  Case() {
    for (float& value : v) value = value < 0 ? 0.f : value;
  }

  std::span<const float> v_of(std::size_t begin, std::size_t end) const {
    return std::span<const float>(v).subspan(begin * visible, (end - begin) * visible);
  }
  std::vector<std::uint32_t> rows_of(std::size_t begin, std::size_t end) const {
    return {rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.begin() + static_cast<std::ptrdiff_t>(end)};
  }
};

RbmOptions gaussian() { return {.visible = VisibleUnits::gaussian}; }

double probability(double mean, double v) {
  return std::exp(-0.5 * (v - mean) * (v - mean)) / std::sqrt(2 * 3.14159265358979);
}

}  // namespace

TEST_CASE("a sample adds the same to the gradient in whatever minibatch and at whatever place", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const RbmOptions options = GENERATE(RbmOptions{}, RbmOptions{.cd_steps = 3}, gaussian(),
                                      RbmOptions{.sparsity_target = 0.1, .sparsity_cost = 0.5});
  const Case c;
  DeviceRbm rbm(*device, c.shape, options, samples);
  const auto whole = gradient_of(rbm, c.parameters, c.v, c.rows, draws);

  std::vector<float> in_parts(whole.size());  // as workers would share it
  double error = 0;
  for (const auto& [begin, end] : {std::pair(10, 24), std::pair(0, 7), std::pair(7, 10)}) {
    error += contrast(rbm, c.parameters, c.v_of(begin, end), c.rows_of(begin, end), draws);
    rbm.gradient({in_parts, 1}, nobody);
  }
  CHECK(distance(whole, in_parts) < 1e-4);
  CHECK(error == Approx(contrast(rbm, c.parameters, c.v, c.rows, draws)).epsilon(1e-6));
}

TEST_CASE("other rows, epochs, layers and seeds draw other states", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const Case c;
  DeviceRbm rbm(*device, c.shape, {}, samples);
  const auto first = gradient_of(rbm, c.parameters, c.v, c.rows, draws);
  CHECK(gradient_of(rbm, c.parameters, c.v, c.rows, draws) == first);
  CHECK(gradient_of(rbm, c.parameters, c.v, rows_from(0, samples), draws) != first);
  Draws other = draws;
  SECTION("epoch") { other.epoch = 3; }
  SECTION("layer") { other.layer = 2; }
  SECTION("seed") { other.seed = 6; }
  CHECK(gradient_of(rbm, c.parameters, c.v, c.rows, other) != first);
}

TEST_CASE("no two of a sample's hidden states are drawn with the same numbers, whatever the epochs", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const int steps = GENERATE(2, 3, 4);
  constexpr std::size_t units = 50;
  const Shape shape{units, units};
  std::vector<float> parameters(shape.parameter_count());  // all probabilities are about a half
  const std::span<float> weights = shape.weights().of(std::span(parameters));
  for (std::size_t i = 0; i < units; ++i) weights[i * units + i] = 1e-4f;
  DeviceRbm rbm(*device, shape, {.cd_steps = steps, .sample_visible = false}, 1);
  std::set<std::vector<bool>> states;
  for (std::uint32_t epoch = 0; epoch < 6; ++epoch) {
    const std::vector<float> v(units);
    const auto g = gradient_of(rbm, parameters, v, {3}, {.seed = 5, .epoch = epoch});
    const auto of_hidden = shape.hidden_bias().of(std::span(g)), of_visible = shape.visible_bias().of(std::span(g));
    std::vector<bool> first(units), last(units);  // of those drawn in the epoch
    for (std::size_t i = 0; i < units; ++i) {
      first[i] = of_hidden[i] < 0;     // P(h|v) - h
      last[i] = of_visible[i] > 0.5f;  // P(v|h)
    }
    states.insert(first);
    states.insert(last);
  }
  CHECK(states.size() == 12);
}

TEST_CASE("cpu computes the reference's gradients and energies", "[rbm]") {
  const auto cpu = backend::make_device("cpu"), reference = backend::make_device("reference");
  const RbmOptions options = GENERATE(RbmOptions{}, RbmOptions{.cd_steps = 2, .persistent = true}, gaussian());
  const Case c;
  DeviceRbm fast(*cpu, c.shape, options, samples), oracle(*reference, c.shape, options, samples);
  for (int update = 0; update < 3; ++update)
    CHECK(distance(gradient_of(fast, c.parameters, c.v, c.rows, draws),
                   gradient_of(oracle, c.parameters, c.v, c.rows, draws)) < 1e-4);
  CHECK(free_energy(fast, c.parameters, c.v) == Approx(free_energy(oracle, c.parameters, c.v)).epsilon(1e-6));
  CHECK(reconstruction_error(fast, c.parameters, c.v) ==
        Approx(reconstruction_error(oracle, c.parameters, c.v)).epsilon(1e-6));
}

TEST_CASE("the gradient accumulates and descends as backpropagation's does", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const float keep = GENERATE(0.f, 0.5f), decay = GENERATE(0.f, 0.01f);
  const Case c;
  DeviceRbm rbm(*device, c.shape, {.sparsity_target = 0.2, .sparsity_cost = 0.1}, samples);
  const auto g = gradient_of(rbm, c.parameters, c.v, c.rows, draws);
  const auto before = random_numbers(g.size(), 1, 9);

  auto into = before, moved = c.parameters;
  contrast(rbm, c.parameters, c.v, c.rows, draws);
  std::size_t end = g.size();
  rbm.gradient({into, keep, nn::GradientSink::Descent{0.1f, decay, moved}}, [&](core::Range range) {
    CHECK(range.end == end);
    end = range.begin;
  });
  CHECK(end == 0);

  auto expected = g, w = c.parameters;
  for (std::size_t i = 0; i < g.size(); ++i) expected[i] += keep * before[i];
  device->run(backend::Descend{0.1f, decay, expected, w});
  CHECK(distance(into, expected) < 2e-5);
  CHECK(distance(moved, w) < 2e-6);
}

TEST_CASE("free energy is minus the logarithm of the summed probabilities of all hidden states", "[rbm]") {
  const auto device = backend::make_device(GENERATE("cpu", "reference"));
  const ExactMachine exact = machine(4, 3);
  DeviceRbm rbm(*device, exact.shape, {}, 3);
  const Patterns data(4, {5, 8, 15}, 1);
  double wanted = 0;
  for (const Values& v : data.each) wanted -= std::log(exact.unnormalised(v));
  CHECK(free_energy(rbm, exact.parameters, data.features) == Approx(wanted).epsilon(1e-6));
}

TEST_CASE("with Gaussian units the free energy is that of a mixture of Gaussians", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const Shape shape{1, 2};
  const std::vector<float> parameters = {1.5f, -0.7f, 0.3f, -0.2f, 0.4f};  // W, b, c
  DeviceRbm rbm(*device, shape, gaussian(), 1);
  const auto density = [&](double v) {  // P(h) ∝ exp(b·h + ((c + W h)² - c²)/2)
    double sum = 0, whole = 0;
    for (std::size_t code = 0; code < 4; ++code) {
      const Values h = state(code, 2);
      const double mean = 0.4 + 1.5 * h[0] - 0.7 * h[1];
      const double weight = std::exp(0.3 * h[0] - 0.2 * h[1] + 0.5 * (mean * mean - 0.16));
      sum += weight * probability(mean, v);
      whole += weight;
    }
    return sum / whole;
  };
  const auto energy = [&](float v) { return free_energy(rbm, parameters, std::vector<float>{v}); };
  for (const float v : {-3.f, 0.5f, 2.f, 4.f})
    CHECK(energy(0) - energy(v) == Approx(std::log(density(static_cast<double>(v)) / density(0))).epsilon(1e-5));
}

TEST_CASE("Gaussian units are drawn with variance 1 around their mean", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const Shape shape{100, 3};
  std::vector<float> parameters(shape.parameter_count());
  for (std::size_t i = 0; i < 100; ++i) parameters[shape.visible_bias().begin + i] = 0.25f;
  const std::vector<float> zero(1000 * 100);
  DeviceRbm rbm(*device, shape, gaussian(), 1000);
  const double error = contrast(rbm, parameters, zero, rows_from(0, 1000), draws);
  CHECK(error == Approx(0.0625 * 1e5));
  std::vector<float> g(parameters.size());
  rbm.gradient({g}, nobody);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    const double of_unit = static_cast<double>(g[shape.visible_bias().begin + i]);  // Σ v1: mean 250, variance 1000
    sum += of_unit;
    squares += (of_unit - 250) * (of_unit - 250);
  }
  CHECK(sum / 1e5 == Approx(0.25).margin(4 / std::sqrt(1e5)));
  CHECK(squares / 100 == Approx(1000).epsilon(0.6));  // four deviations of a variance from 100 numbers
}

TEST_CASE("a Gaussian machine learns where the data lie", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const Shape shape{2, 4};
  const core::RandomStream random(2, core::Purpose::generator);
  std::vector<float> v(200 * 2);  // two clouds
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<float>(0.5 * random.normal(i)) + (i / 2 % 2 == 0 ? 2.f : -2.f);
  std::vector<float> parameters(shape.parameter_count()), g(parameters.size());
  initialise(shape, 0.01, core::RandomStream(1, core::Purpose::initial_weights), parameters);
  DeviceRbm rbm(*device, shape, gaussian(), 200);
  const double before = reconstruction_error(rbm, parameters, v);
  for (std::uint32_t epoch = 0; epoch < 300; ++epoch) {
    contrast(rbm, parameters, v, rows_from(0, 200), {.seed = 1, .epoch = epoch});
    rbm.gradient({g, 0, nn::GradientSink::Descent{0.02f / 200, 0, parameters}}, nobody);
  }
  CHECK(reconstruction_error(rbm, parameters, v) < 0.3 * before);
}

TEST_CASE("sparsity pulls the biases of units that are on too often, and nothing else", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const Case c;
  DeviceRbm plain(*device, c.shape, {}, samples);
  DeviceRbm sparse(*device, c.shape, {.sparsity_target = 0.25, .sparsity_cost = 2}, samples);
  const auto g = gradient_of(plain, c.parameters, c.v, c.rows, draws);
  const auto pulled = gradient_of(sparse, c.parameters, c.v, c.rows, draws);
  std::vector<float> q(samples * hidden);
  const std::span<const float> all(c.parameters);
  device->run(backend::AffineForward{samples, visible, hidden, c.v, c.shape.weights().of(all), c.shape.hidden_bias().of(all),
                                     backend::Activation::sigmoid, q});
  auto expected = g;
  for (std::size_t i = 0; i < q.size(); ++i) expected[c.shape.hidden_bias().begin + i % hidden] += 2 * (q[i] - 0.25f);
  CHECK(distance(pulled, expected) < 1e-4);
}

TEST_CASE("a machine whose chains are put back goes on as if nothing had been", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const Case c;
  const RbmOptions options{.cd_steps = 2, .persistent = true};
  DeviceRbm first(*device, c.shape, options, samples), second(*device, c.shape, options, samples);
  gradient_of(first, c.parameters, c.v_of(0, 5), c.rows_of(0, 5), draws);  // some chains stay where they are
  gradient_of(first, c.parameters, c.v, c.rows, draws);
  core::StateView from, to;
  first.describe_state(from);
  second.describe_state(to);
  REQUIRE(from.arrays.size() == 1);
  std::ranges::copy(from.arrays[0].values, to.arrays[0].values.begin());
  for (std::size_t i = 0; i < from.numbers.size(); ++i) to.numbers[i].set(from.numbers[i].get());
  CHECK(gradient_of(first, c.parameters, c.v, c.rows, draws) == gradient_of(second, c.parameters, c.v, c.rows, draws));

  core::StateView none;
  DeviceRbm divergent(*device, c.shape, {}, samples);
  divergent.describe_state(none);
  CHECK(none.arrays.empty());
}

TEST_CASE("workers with chains of their own draw different ones", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const Case c;
  const RbmOptions options{.persistent = true};
  DeviceRbm first(*device, c.shape, options, samples), second(*device, c.shape, options, samples, samples);
  CHECK(gradient_of(first, c.parameters, c.v, c.rows, draws) != gradient_of(second, c.parameters, c.v, c.rows, draws));
}

TEST_CASE("a machine counts on meta what it does on cpu", "[rbm]") {
  const auto cpu = backend::make_device("cpu"), meta = backend::make_device("meta");
  const RbmOptions options = GENERATE(RbmOptions{}, RbmOptions{.cd_steps = 3, .persistent = true},
                                      RbmOptions{.sample_visible = false, .sparsity_target = 0.1, .sparsity_cost = 1});
  const Case c;
  const auto work = [&](backend::Device& device) {
    DeviceRbm rbm(device, c.shape, options, samples);
    core::Arena memory = device.allocate(2 * c.parameters.size() + c.v.size());
    const auto parameters = memory.span().first(c.parameters.size());
    const auto into = memory.span().subspan(c.parameters.size(), c.parameters.size()), v = memory.span().last(c.v.size());
    contrast(rbm, parameters, v, c.rows, draws);
    rbm.gradient({into, 0, nn::GradientSink::Descent{0.1f, 0, parameters}}, nobody);
    free_energy(rbm, parameters, v);
    reconstruction_error(rbm, parameters, v);
    return device.meter();
  };
  CHECK(work(*cpu) == work(*meta));
}

TEST_CASE("initial parameters are small weights without biases, and the same for the same stream", "[rbm]") {
  const Shape shape{50, 40};
  const auto drawn = [&](double deviation, std::uint32_t step) {
    std::vector<float> parameters(shape.parameter_count(), 1.f);
    initialise(shape, deviation, core::RandomStream(1, core::Purpose::initial_weights, step), parameters);
    return parameters;
  };
  const auto parameters = drawn(0.01, 0);
  double squares = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    squares += static_cast<double>(parameters[i]) * static_cast<double>(parameters[i]);
    if (i >= shape.weights().end) CHECK(parameters[i] == 0);
  }
  CHECK(std::sqrt(squares / 2000) == Approx(0.01).epsilon(0.07));
  CHECK(drawn(0.01, 0) == parameters);
  CHECK(drawn(0.01, 1) != parameters);
  CHECK(drawn(0, 0) == std::vector<float>(shape.parameter_count()));
}

TEST_CASE("options without sense are refused in a sentence", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const auto make = [&](const RbmOptions& options) { return Rbm(*device, {3, 2}, options, 4); };
  CHECK_THROWS_WITH(make({.cd_steps = 0}), contains_text("at least one step, not 0"));
  CHECK_THROWS_WITH(make({.sparsity_target = 1.5}), contains_text("sparsity target"));
  CHECK_THROWS_WITH(make({.sparsity_cost = -1}), contains_text("sparsity cost"));
  CHECK_THROWS_AS(make({.sparsity_cost = std::nan("")}), core::ConfigError);
  CHECK_THROWS_WITH(parse_visible_units("poisson"), contains_text("binomial"));
  CHECK(parse_visible_units("gaussian") == VisibleUnits::gaussian);
}

TEST_CASE("minibatches that do not fit are broken contracts", "[rbm]") {
  const auto device = backend::make_device("cpu");
  DeviceRbm rbm(*device, {3, 2}, {}, 4);
  const std::vector<float> parameters(Shape{3, 2}.parameter_count()), v(15);
  const std::span<const float> some(v);
  CHECK_THROWS_AS(contrast(rbm, parameters, some, rows_from(0, 5), draws), std::logic_error);
  CHECK_THROWS_AS(contrast(rbm, parameters, some.first(6), rows_from(0, 3), draws), std::logic_error);
  CHECK_THROWS_AS(contrast(rbm, parameters, some.first(5), rows_from(0, 1), draws), std::logic_error);
  CHECK_THROWS_AS(free_energy(rbm, parameters, some), std::logic_error);
}
