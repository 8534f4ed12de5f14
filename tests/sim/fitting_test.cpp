// Fits of platforms to measurements whose parameters are known, and the files that are written of them.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "every_key.hpp"
#include "sim/fitting/fit.hpp"
#include "sim/fitting/fitted_file.hpp"
#include "support.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::fitting;
using namespace paragrad::sim::testing;

namespace {

const Platform sheet = platform_of(4, 4, {3e-6, 20e9}, {10e-6, 10e9});

constexpr double samples = 256, gradient = 1e9;  // per step and device; bytes

/// A training by closed form: the host, the device, and a ring whose slowest link decides.
Row training(int workers, double measured_per_s = 0) {
  const int nodes = (workers + 3) / 4;
  Row row{.name = std::to_string(workers),
          .measured_s = measured_per_s == 0 ? 0 : 1 / measured_per_s,
          .fits = measured_per_s > 0,
          .trains = true,
          .rate = 0,
          .reach = workers == 1 ? Reach::device
                   : nodes == 1 ? Reach::node
                                : Reach::network};
  row.time = [=](const Platform& platform, double rate) {
    const Link& link = nodes > 1 ? platform.leaf : platform.peer;
    const double steps = 2 * (workers - 1);
    const double exchange_s = workers == 1 ? 0 : steps * link.latency_s + steps / workers * gradient / link.bytes_per_s;
    const double compute_s = samples / rate, hidden_s = std::min(compute_s, exchange_s) * platform.program.overlap;
    const double step_s = platform.program.step_cost_s + compute_s + exchange_s - hidden_s;
    return Timed{step_s / (samples * workers), (exchange_s - hidden_s) / step_s};
  };
  return row;
}

/// What the program has on a cluster that is not as the data sheet says.
struct Truth {
  double rate = 900, step_cost_s = 4e-3, overlap = 0.3, peer = 14e9, leaf = 6e9;

  Platform platform() const {
    Platform real = sheet;
    real.program = {step_cost_s, overlap};
    real.peer.bytes_per_s = peer;
    real.leaf.bytes_per_s = leaf;
    return real;
  }
  Row measured(int workers) const {
    Row row = training(workers);
    row.measured_s = row.time(platform(), rate).seconds;
    row.fits = true;
    return row;
  }
};

const Estimate& estimate_of(const Fit& fit, const std::string& name) {
  for (const Estimate& one : fit.estimates)
    if (one.name == name) return one;
  throw std::logic_error("no parameter " + name);
}

const std::vector<Rate> rates{{"rate", 500}};

}  // namespace

TEST_CASE("a fit finds the times that were measured, and predicts others", "[sim]") {
  const Truth truth;
  std::vector<Row> rows{truth.measured(1), truth.measured(4), truth.measured(8), training(2), training(16)};
  const Fit found = fit(sheet, rows, rates);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double real_s = rows[i].time(truth.platform(), truth.rate).seconds;
    CAPTURE(rows[i].name);
    CHECK(found.predictions[i].seconds == Approx(real_s).epsilon(i < 3 ? 0.01 : 0.03));
    CHECK(std::abs(std::log(found.predictions[i].seconds / real_s)) < student_95 * found.predictions[i].spread);
  }
  for (const Estimate& one : found.estimates) {
    CHECK(one.low() < one.value);
    CHECK(one.value < one.high());
    CHECK(one.spread <= one.spread_before * 1.0001);
  }
  REQUIRE(!estimate_of(found, "rate").rows.empty());
  CHECK(estimate_of(found, "rate").rows.front() == 0);
  CHECK(found.reach == Reach::network);
}

TEST_CASE("a parameter that one row alone depends on is told by it, and found if the others are known", "[sim]") {
  Truth truth;
  truth.overlap = 0.5, truth.step_cost_s = 1e-3, truth.peer = 20e9;  // as nothing says otherwise
  const Fit found = fit(sheet, {truth.measured(1), truth.measured(4), truth.measured(16)}, rates);
  const Estimate& leaf = estimate_of(found, "leaf.bandwidth");
  CHECK(leaf.value == Approx(truth.leaf).epsilon(0.25));
  REQUIRE(leaf.rows.size() == 1);
  CHECK(leaf.rows[0] == 2);
  CHECK((leaf.low() < truth.leaf && truth.leaf < leaf.high()));
}

TEST_CASE("what no row tells stays as it is, and predictions that need it say so", "[sim]") {
  const Truth truth;
  const Fit found = fit(sheet, {truth.measured(1), truth.measured(2), training(16)}, rates);
  CHECK(found.platform.leaf.bytes_per_s == Approx(sheet.leaf.bytes_per_s));
  CHECK(estimate_of(found, "leaf.bandwidth").rows.empty());
  const Prediction& across = found.predictions[2];
  CHECK(across.is_beyond);
  CHECK(std::ranges::count(across.unmeasured, "leaf.bandwidth") == 1);
  CHECK(across.spread > 2 * found.predictions[1].spread);
}

TEST_CASE("a row is predicted without itself as by a fit to the others", "[sim]") {
  const Truth truth;
  const std::vector<Row> rows{truth.measured(1), truth.measured(4), truth.measured(8)};
  const Fit all = fit(sheet, rows, rates, true);
  for (std::size_t left_out = 0; left_out < rows.size(); ++left_out) {
    std::vector<Row> others = rows;
    others[left_out].fits = false;
    const double expected = fit(sheet, others, rates).predictions[left_out].seconds;
    CHECK(all.predictions[left_out].left_out_s == Approx(expected).epsilon(0.01));
  }
}

TEST_CASE("a spread in the platform file counts as what is known", "[sim]") {
  Truth truth;
  Platform sure = sheet;
  sure.spreads["leaf.bandwidth"] = 1e-3;
  const Fit found = fit(sure, {truth.measured(1), truth.measured(16)}, rates);
  CHECK(found.platform.leaf.bytes_per_s == Approx(sheet.leaf.bytes_per_s).epsilon(0.01));
}

TEST_CASE("a fit needs a row", "[sim]") {
  CHECK_THROWS_AS(fit(sheet, {training(4)}, rates), core::ConfigError);
  CHECK_THROWS_AS(fit(sheet, {}, {}), core::ConfigError);
}

TEST_CASE("every parameter of a fit is a key of a platform file, and written as it is read", "[sim]") {
  const test::TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    test::write_text(folder.file("platform.toml"), text);
    return read_platform(folder.file("platform.toml"));
  };
  Platform platform = read(platform_with_every_key);
  Fit made;
  for (const Parameter& parameter : parameters()) {
    double* const value = parameter.in(platform);
    REQUIRE(value != nullptr);
    const double before = *value > 0 ? *value : parameter.usual;
    const double coordinate = to_coordinate(parameter.scale, std::clamp(before, parameter.least, parameter.most)) + 0.1;
    made.estimates.push_back({.name = parameter.name(),
                              .parameter = &parameter,
                              .before = before,
                              .value = from_coordinate(parameter.scale, coordinate),
                              .spread = 0.2,
                              .rows = {0}});
  }
  made.covariance.assign(made.estimates.size() + 1, std::vector<double>(made.estimates.size() + 1, 0.25));
  made.estimates.push_back({.name = "rate of zoo:resnet50", .value = 219, .spread = 0.2});
  made.reach = Reach::node;
  const std::string text = fitted_file(platform_with_every_key, made, {{"zoo:\"resnet50\"", "", 219}}, 7, "a remark");
  Platform fitted = read(text);
  for (const Estimate& one : made.estimates) {
    if (one.parameter == nullptr) continue;
    CAPTURE(one.name);
    CHECK(*one.parameter->in(fitted) == Approx(one.value).epsilon(1e-3));
    CHECK(fitted.spreads.at(one.name) == Approx(one.spread).epsilon(0.01));
  }
  REQUIRE(fitted.fit.has_value());
  CHECK(fitted.fit->rows == 7);
  CHECK(fitted.fit->reach == "node");
  CHECK(fitted.fit->names.back() == "rate[0]");
  CHECK(fitted.fit->covariance == made.covariance);
  REQUIRE(fitted.rates.size() == 1);
  CHECK(fitted.rates[0].model == "zoo:\"resnet50\"");
  CHECK(fitted.rates[0].samples_per_s == Approx(219));
  CHECK(fitted.faults.size() == platform.faults.size());
  CHECK(fitted.leaf.nics_per_node == platform.leaf.nics_per_node);

  Platform again = read(fitted_file(text, made, {{"zoo:\"resnet50\"", "", 219}}, 7, "a remark"));
  CHECK(*parameters()[0].in(fitted) == *parameters()[0].in(again));
  CHECK(again.rates.size() == 1);
}

TEST_CASE("comments of a platform file stay, and say what was there", "[sim]") {
  const std::string base =
      "# A cluster.\n[leaf]  # between nodes\nlatency = \"9us\"  # measured\nbandwidth = \"4GBps\"\n\n[other]\nlatency = "
      "\"1us\"\n";
  Fit made;
  made.estimates.push_back(
      {.name = "leaf.latency", .parameter = find_parameter("leaf.latency"), .value = 12e-6, .spread = 0.1, .rows = {0}});
  made.covariance = {{0.01}};
  const std::string text = fitted_file(base, made, {}, 1, "remark");
  CHECK(
      text.find(
          "# remark\n# A cluster.\n[leaf]  # between nodes\nlatency = \"12us ± 21.7%\"  # fitted; before \"9us\": measured\n"
          "bandwidth = \"4GBps\"\n\n[other]\nlatency = \"1us\"\n") == 0);
}
