// What contrastive divergence computes, against machines small enough for their states to be counted.
#include "catch.hpp"
#include "tests/rbm/support.hpp"

using namespace paragrad;
using namespace paragrad::rbm;
using namespace paragrad::rbm::testing;

namespace {

const std::vector<std::size_t> codes = {1, 3, 6, 5};

}  // namespace

TEST_CASE("the gradient of CD-k is the exact enumeration in expectation", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const int steps = GENERATE(1, 2, 3);
  CAPTURE(steps);
  const ExactMachine exact = machine(3, 2);
  const Patterns data(3, codes, 100);
  DeviceRbm rbm(*device, exact.shape, {.cd_steps = steps}, data.samples);
  const Estimate drawn = estimate(rbm, exact.parameters, data, 300);
  const Values wanted = per_sample(exact.contrastive_gradient(data.each, steps), codes.size());
  CHECK(drawn.agrees_with(wanted, 4));
  CHECK_FALSE(drawn.agrees_with(per_sample(exact.contrastive_gradient(data.each, steps + 1), codes.size()), 4));
}

TEST_CASE("CD-k tends to the exact gradient of the likelihood as k grows", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const ExactMachine exact = machine(3, 2);
  const Values likelihood = per_sample(exact.likelihood_gradient({state(1, 3), state(3, 3), state(6, 3), state(5, 3)}), 4);
  const Patterns data(3, codes, 100);
  double before = 1;
  for (const int steps : {1, 2, 3}) {
    DeviceRbm rbm(*device, exact.shape, {.cd_steps = steps}, data.samples);
    const double away = distance(estimate(rbm, exact.parameters, data, 150).mean, likelihood);
    CHECK(away < 0.5 * before);
    before = away;
  }
  DeviceRbm rbm(*device, exact.shape, {.cd_steps = 30}, data.samples);
  CHECK(estimate(rbm, exact.parameters, data, 300).agrees_with(likelihood, 4));
}

TEST_CASE("the exact gradient is the slope of the exact log-likelihood", "[rbm]") {
  ExactMachine exact = machine(3, 2);
  const std::vector<Values> data = {state(1, 3), state(6, 3)};
  const Values gradient = exact.likelihood_gradient(data);
  Values slope(gradient.size());
  for (std::size_t i = 0; i < slope.size(); ++i) {
    const float before = exact.parameters[i];
    exact.parameters[i] = before + 1e-3f;
    slope[i] = exact.log_likelihood(data);
    exact.parameters[i] = before - 1e-3f;
    slope[i] = (exact.log_likelihood(data) - slope[i]) / 2e-3;
    exact.parameters[i] = before;
  }
  CHECK(distance(gradient, slope) < 1e-3);
}

TEST_CASE("persistent chains reach the machine's own distribution, and with it the likelihood's gradient", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const ExactMachine exact = machine(3, 2);
  const Patterns data(3, codes, 100);
  DeviceRbm rbm(*device, exact.shape, {.persistent = true}, data.samples);
  const Estimate drawn = estimate(rbm, exact.parameters, data, 400, 30);
  const Values wanted = per_sample(exact.likelihood_gradient(data.each), codes.size());
  CHECK(distance(drawn.mean, wanted) < 0.006);  // successive chains are not independent
  DeviceRbm divergent(*device, exact.shape, {}, data.samples);
  CHECK(distance(estimate(divergent, exact.parameters, data, 100).mean, wanted) > 0.03);
}

TEST_CASE("learning raises the exact log-likelihood of a tiny machine", "[rbm]") {
  const auto device = backend::make_device("cpu");
  const RbmOptions options = GENERATE(RbmOptions{}, RbmOptions{.cd_steps = 3}, RbmOptions{.persistent = true},
                                      RbmOptions{.sample_visible = false}, RbmOptions{.cd_steps = 2, .persistent = true});
  const double deviation = GENERATE(0.01, 0.);
  CAPTURE(options.cd_steps, options.persistent, options.sample_visible, deviation);
  const Patterns data(4, {3, 12, 15}, 20);  // two bars, or both
  ExactMachine exact{{4, 4}, {}};
  exact.parameters.resize(exact.shape.parameter_count());
  initialise(exact.shape, deviation, core::RandomStream(1, core::Purpose::initial_weights), exact.parameters);
  DeviceRbm rbm(*device, exact.shape, options, data.samples);

  const double before = exact.log_likelihood(data.each) / 3;
  CHECK(before == Approx(-4 * std::log(2.)).margin(0.01));
  double error_before = 0, error = 0;
  for (std::uint32_t epoch = 0; epoch < 1500; ++epoch) {
    error = contrast(rbm, exact.parameters, data.features, rows_from(0, data.samples), {.seed = 1, .epoch = epoch});
    if (epoch == 0) error_before = error;
    std::vector<float> g(exact.parameters.size());
    rbm.gradient({g, 0, nn::GradientSink::Descent{0.2f / 60, 0, exact.parameters}}, nobody);
  }
  const double after = exact.log_likelihood(data.each) / 3;
  CHECK(after > -1.6);  // at most -log 3 = -1.1
  CHECK(error < 0.5 * error_before);
}
