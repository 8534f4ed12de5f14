// Muon beyond its formula on one matrix (local_optimiser_test): directions, stacked matrices, what counts as hidden.
#include <algorithm>
#include <array>
#include <cmath>

#include "catch.hpp"
#include "core/philox.hpp"
#include "nn/model.hpp"
#include "optim/local_optimiser.hpp"

using namespace paragrad;

namespace {

using Layout = std::vector<core::Matrix>;

/// What a step at learning rate 1 without momentum moves, from these gradients.
std::vector<float> moved(const Layout& layout, const std::vector<float>& gradients, core::Settings settings = {},
                         const char* device_name = "cpu") {
  settings["muon-momentum"] = 0;
  const auto device = backend::make_device(device_name);
  const auto rule = optim::make_optimiser({.name = "muon", .settings = settings}, *device, layout, true);
  std::ranges::copy(gradients, rule->gradients().begin());
  std::vector<float> w(gradients.size());
  rule->begin_step();
  rule->update(*device, {0, w.size()}, {.rate = 1}, w);
  for (float& value : w) value = -value;
  return w;
}

std::vector<float> drawn(std::size_t count, std::uint32_t stream) {
  const core::RandomStream random(1, core::Purpose::generator, stream);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(random.normal(i));
  return values;
}

/// Singular values of a matrix with n <= 8 rows of any length, by Jacobi's method on its Gram matrix.
std::vector<double> singular_values(const std::vector<float>& x, std::size_t n) {
  const std::size_t length = x.size() / n;
  std::vector<double> gram(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < length; ++l)
        gram[i * n + j] += static_cast<double>(x[i * length + l]) * static_cast<double>(x[j * length + l]);
  for (int time = 0; time < 50; ++time)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (gram[p * n + q] == 0) continue;
        const double angle = 0.5 * std::atan2(2 * gram[p * n + q], gram[q * n + q] - gram[p * n + p]);
        const double c = std::cos(angle), s = std::sin(angle);
        for (std::size_t k = 0; k < n; ++k) {
          const double a = gram[p * n + k], b = gram[q * n + k];
          gram[p * n + k] = c * a - s * b, gram[q * n + k] = s * a + c * b;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double a = gram[k * n + p], b = gram[k * n + q];
          gram[k * n + p] = c * a - s * b, gram[k * n + q] = s * a + c * b;
        }
      }
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(std::sqrt(std::max(0., gram[i * n + i])));
  return values;
}

}  // namespace

TEST_CASE("Muon's step of a matrix of two by two is the one computed by hand", "[optim]") {
  // The gradient (3 0; 0 4) has norm 5, so the iteration begins with 0.6 and 0.8 on the diagonal and maps each x to
  // 3.4445 x - 4.775 x^3 + 2.0315 x^5.
  const auto iterated = [](double x) {
    for (int i = 0; i < 5; ++i) x = 3.4445 * x - 4.7750 * std::pow(x, 3) + 2.0315 * std::pow(x, 5);
    return x;
  };
  const std::vector<float> step = moved({{0, {2, 2}}}, {3, 0, 0, 4}, {{"muon-size", "spectral"}});
  CHECK(step[0] == Approx(iterated(0.6)).epsilon(1e-5));
  CHECK(step[3] == Approx(iterated(0.8)).epsilon(1e-5));
  CHECK(step[1] == 0);
  CHECK(step[2] == 0);
}

TEST_CASE("singular values of Muon's steps lie between 0.68 and 1.14, whatever the gradient's size", "[optim]") {
  const auto [rows, columns] = GENERATE(values<std::pair<std::size_t, std::size_t>>({{8, 8}, {8, 40}, {40, 8}, {5, 7}}));
  const float size = GENERATE(1e-6f, 1.f, 1e12f);
  CAPTURE(rows, columns, size);
  std::vector<float> gradients = drawn(rows * columns, 1);
  for (float& g : gradients) g *= size;
  std::vector<float> step = moved({{0, {rows, columns}}}, gradients, {{"muon-size", "spectral"}});
  const double spectral = std::sqrt(static_cast<double>(rows) / static_cast<double>(columns));
  for (float& value : step) value /= static_cast<float>(spectral);
  if (rows < columns) {  // the shorter side as rows
    std::vector<float> transposed(step.size());
    for (std::size_t i = 0; i < step.size(); ++i) transposed[i % rows * columns + i / rows] = step[i];
    step = transposed;
  }
  for (const double value : singular_values(step, std::min(rows, columns))) {
    CHECK(value > 0.68);
    CHECK(value < 1.14);
  }
}

TEST_CASE("a step of Muon is as long as AdamW's, or changes outputs alike", "[optim]") {
  const auto length_of = [](const std::vector<float>& step) {
    double square = 0;
    for (const float value : step) square += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(square / static_cast<double>(step.size()));
  };
  const std::size_t outputs = GENERATE(64u, 16u), inputs = GENERATE(32u, 96u);
  const std::vector<float> gradients = drawn(inputs * outputs, 2);
  const double rms = length_of(moved({{0, {outputs, inputs}}}, gradients));
  CHECK(rms > 0.2 * 0.7);
  CHECK(rms < 0.2 * 1.13);
  const double spectral = length_of(moved({{0, {outputs, inputs}}}, gradients, {{"muon-size", "spectral"}}));
  const double ratio = std::sqrt(static_cast<double>(outputs) / static_cast<double>(inputs)) /
                       (0.2 * std::sqrt(static_cast<double>(std::max(inputs, outputs))));
  CHECK(spectral == Approx(ratio * rms).epsilon(1e-5));
}

TEST_CASE("stacked matrices move as they do apart", "[optim]") {
  const char* const device = GENERATE("cpu", "reference");
  const std::size_t outputs = 4, inputs = GENERATE(3u, 9u);
  core::Matrix together{0, {3 * outputs, inputs}};
  together.stacked = 3;
  const std::vector<float> gradients = drawn(together.shape.size(), 3);
  const std::vector<float> step = moved({together}, gradients, {}, device);
  for (std::size_t part = 0; part < 3; ++part) {
    std::vector<float> own, expected;
    for (std::size_t column = 0; column < inputs; ++column)
      for (std::size_t row = 0; row < outputs; ++row) {
        own.push_back(gradients[column * 3 * outputs + part * outputs + row]);
        expected.push_back(step[column * 3 * outputs + part * outputs + row]);
      }
    const std::vector<float> alone = moved({{0, {outputs, inputs}}}, own, {}, device);
    for (std::size_t i = 0; i < alone.size(); ++i) CHECK(alone[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-7));
  }
}

TEST_CASE("Muon makes only hidden matrices orthogonal, and takes the rate of others as a multiple", "[optim]") {
  const core::Matrix hidden{0, {2, 2}};
  core::Matrix table{4, {2, 2}}, head{8, {2, 2}};
  table.role = core::Role::embedding;
  head.role = core::Role::head;
  const core::Matrix vector{12, {2, 1}};
  const std::vector<float> gradients(14, 5), step = moved({hidden, table, head, vector}, gradients, {{"adamw-rate", 0.5}});
  for (std::size_t i = 4; i < 14; ++i) CHECK(step[i] == Approx(0.5));  // Adam's first step has the length of its rate
  CHECK(step[0] != Approx(0.5).epsilon(0.01));
}
