// Elementwise kernels: against the formulas of kernels.hpp, written out in double, and the devices against each other.
#include "backend/kernels/activation_backward.hpp"
#include "backend/kernels/adam_update.hpp"
#include "backend/kernels/add.hpp"
#include "backend/kernels/bias_gradient.hpp"
#include "backend/kernels/block_filter.hpp"
#include "backend/kernels/clamp.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/limit_row_norms.hpp"
#include "backend/kernels/look_ahead.hpp"
#include "backend/kernels/moment_filter.hpp"
#include "backend/kernels/momentum_update.hpp"
#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "tests/backend/host_gpu.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

const std::vector<std::size_t> lengths = {0, 1, 15, 16, 17, 33, 1000};

}  // namespace

TEST_CASE("block_filter follows its formulas", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const float ahead = GENERATE(0.f, 0.75f);
  const float ahead_before = GENERATE(0.f, 0.5f);
  const float momentum = 0.75f, rate = 1.5f;
  for (const std::size_t n : lengths) {
    auto average = random_numbers(n, 1), w = random_numbers(n, 2), delta = random_numbers(n, 3);
    std::vector<double> average_wanted(n), w_wanted(n), delta_wanted(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double base = double{w[i]} + ahead_before * double{delta[i]};
      delta_wanted[i] = momentum * double{delta[i]} + rate * (average[i] - base);
      w_wanted[i] = w[i] + delta_wanted[i];
      average_wanted[i] = w_wanted[i] + ahead * delta_wanted[i];
    }
    device->run(BlockFilter{momentum, rate, ahead_before, ahead, average, w, delta});
    CHECK(distance(delta, delta_wanted) < 2e-6);
    CHECK(distance(w, w_wanted) < 2e-6);
    CHECK(distance(average, average_wanted) < 4e-6);
  }
}

TEST_CASE("look_ahead has the bits of block_filter's next starting point", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const std::size_t n : lengths) {
    auto average = random_numbers(n, 1), w = random_numbers(n, 2), delta = random_numbers(n, 3), start = poisoned(n);
    device->run(BlockFilter{0.9f, 1.1f, 0.3f, 0.9f, average, w, delta});
    device->run(LookAhead{0.9f, w, delta, start});
    CHECK(same_bits(start, average));
  }
}

TEST_CASE("block_filter of one worker without momentum takes over the average", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> average = {3, 4}, w = {1, 2}, delta = {0, 0};
  device->run(BlockFilter{0, 1, 0, 0, average, w, delta});
  CHECK(w == std::vector<float>{3, 4});
  CHECK(delta == std::vector<float>{2, 2});
  CHECK(average == w);
}

TEST_CASE("moment_filter goes on as far with the estimate that led from base to moment", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const bool of_squares = GENERATE(false, true);
  const double past = 0.7, keep = 0.4;
  for (const std::size_t n : lengths) {
    auto moment = random_numbers(n, 1), base = random_numbers(n, 2);
    std::vector<double> wanted(n);
    for (std::size_t i = 0; i < n; ++i) {
      double estimate = (moment[i] - past * base[i]) / (1 - past);
      if (of_squares) estimate = std::max(estimate, 0.);
      wanted[i] = keep * base[i] + (1 - keep) * estimate;
    }
    device->run(MomentFilter{past, keep, of_squares, moment, base});
    CHECK(distance(moment, wanted) < 4e-6);
    CHECK(same_bits(moment, base));
  }
}

TEST_CASE("momentum_update follows its formulas and leaves g alone", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const bool nesterov = GENERATE(false, true);
  const float decay = GENERATE(0.f, 0.01f);
  for (const std::size_t n : lengths) {
    const auto g = random_numbers(n, 1), g_before = g;
    auto v = random_numbers(n, 2), w = random_numbers(n, 3);
    std::vector<double> v_wanted(n), w_wanted(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double gradient = g[i] + double{decay} * w[i];
      v_wanted[i] = double{0.9f} * v[i] + gradient;
      w_wanted[i] = w[i] - double{0.1f} * (nesterov ? gradient + double{0.9f} * v_wanted[i] : v_wanted[i]);
    }
    device->run(MomentumUpdate{0.1f, 0.9f, nesterov, decay, g, v, w});
    CHECK(distance(v, v_wanted) < 1e-6);
    CHECK(distance(w, w_wanted) < 1e-6);
    CHECK(same_bits(g, g_before));
  }
}

TEST_CASE("adam_update follows its formulas and leaves g alone", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const double decay = GENERATE(0., 0.01), shrink = GENERATE(0., 0.003);
  const AdamStep step{0.02, 0.9, 0.999, 1.7, 1e-3, 0.25, decay, shrink};
  for (const std::size_t n : lengths) {
    const auto g = random_numbers(n, 1), g_before = g;
    auto m = random_numbers(n, 2), v = random_numbers(n, 3), w = random_numbers(n, 4);
    for (float& square : v) square *= square;
    std::vector<double> m_wanted(n), v_wanted(n), w_wanted(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double d = 0.25 * g[i] + decay * w[i];
      m_wanted[i] = 0.9 * m[i] + 0.1 * d;
      v_wanted[i] = 0.999 * v[i] + 0.001 * d * d;
      w_wanted[i] = (1 - shrink) * w[i] - 0.02 * m_wanted[i] / (std::sqrt(1.7 * v_wanted[i]) + 1e-3);
    }
    device->run(AdamUpdate{step, g, m, v, w});
    CHECK(distance(m, m_wanted) < 1e-6);
    CHECK(distance(v, v_wanted) < 1e-6);
    CHECK(distance(w, w_wanted) < 1e-6);
    CHECK(same_bits(g, g_before));
  }
}

namespace {

/// Two steps of a rule on some device.
template <class Rule>
std::vector<std::vector<float>> two_steps(const std::string& name, std::size_t n) {
  constexpr std::size_t arrays = RuleUpdate<Rule>::arrays;
  const auto device = any_device(name);
  std::vector<std::vector<float>> all{random_numbers(n, 1), std::vector<float>(arrays > 0 ? n : 0),
                                      std::vector<float>(arrays > 1 ? n : 0)};
  for (std::uint64_t step = 0; step < 2; ++step) {
    const auto g = random_numbers(n, 2 + step);
    device->run(RuleUpdate<Rule>{{0.1, 0.5, 0.01, Rule::defaults}, g, all[0], all[1], all[2]});
  }
  return all;
}

template <class Rule>
void check_rule(const std::string& device) {
  for (const std::size_t n : lengths) {
    const auto mine = two_steps<Rule>(device, n), expected = two_steps<Rule>("reference", n);
    for (std::size_t i = 0; i < mine.size(); ++i) CHECK(same_bits(mine[i], expected[i]));
    if (n > 0) CHECK_FALSE(same_bits(mine[0], random_numbers(n, 1)));
  }
}

}  // namespace

TEST_CASE("every update rule gives the same bits on every device", "[backend]") {
  const std::string device = GENERATE("cpu", "host gpu", "host gpu backwards");
#define UPDATE_RULE(name, Rule, rate, summary, source) \
  {                                                    \
    INFO(device << ": " #name);                        \
    check_rule<Rule>(device);                          \
  }
#include "backend/update_rules.def"
#undef UPDATE_RULE
}

TEST_CASE("clamp keeps every element within the limit, and NaN as it is", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const std::size_t n : lengths) {
    auto x = random_numbers(n, 1);
    std::vector<float> wanted;
    for (const float value : x) wanted.push_back(std::min(0.3f, std::max(-0.3f, value)));
    device->run(Clamp{0.3f, x});
    CHECK(same_bits(x, wanted));
  }
  std::vector<float> x = {not_a_number, std::numeric_limits<float>::infinity(), -7};
  device->run(Clamp{2, x});
  CHECK((std::isnan(x[0]) && x[1] == 2 && x[2] == -2));
}

TEST_CASE("limit_row_norms scales rows that are too long to the limit, and leaves the others bit for bit", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t rows = GENERATE(1u, 5u, 16u, 33u), columns = GENERATE(1u, 4u, 19u);
  const auto before = random_numbers(rows * columns, 1);
  const auto norm = [&](const std::vector<float>& w, std::size_t r) {
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += double{w[c * rows + r]} * double{w[c * rows + r]};
    return std::sqrt(sum);
  };
  const float limit = 0.58f * std::sqrt(static_cast<float>(columns));  // about the middle
  auto w = before;
  device->run(LimitRowNorms{rows, columns, limit, w});
  for (std::size_t r = 0; r < rows; ++r) {
    const bool too_long = norm(before, r) > double{limit};
    if (too_long) CHECK(norm(w, r) == Approx(limit).epsilon(1e-6));
    for (std::size_t c = 0; c < columns; ++c)
      CHECK(double{w[c * rows + r]} ==
            Approx(double{before[c * rows + r]} * (too_long ? limit / norm(before, r) : 1)).epsilon(too_long ? 1e-6 : 0));
  }
}

TEST_CASE("momentum accumulated by backward and descend is momentum_update, bit for bit", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const auto g = random_numbers(100, 1);
  auto v = random_numbers(100, 2), w = random_numbers(100, 3);
  auto v_other = v, w_other = w;
  device->run(MomentumUpdate{0.1f, 0.9f, false, 0, g, v, w});
  device->run(Scale{0.9f, v_other});
  device->run(Add{g, v_other});
  device->run(Descend{0.1f, 0, v_other, w_other});
  CHECK(same_bits(v, v_other));
  CHECK(same_bits(w, w_other));
}

TEST_CASE("descend adds decay to d before it steps, and leaves d alone without decay", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> d = {1, -2, 0.5f}, w = {2, 4, -8};
  device->run(Descend{0.5f, 0, d, w});
  CHECK(d == std::vector<float>{1, -2, 0.5f});
  CHECK(w == std::vector<float>{1.5f, 5, -8.25f});
  device->run(Descend{0.5f, 2, d, w});
  CHECK(d == std::vector<float>{4, 8, -16});
  CHECK(w == std::vector<float>{-0.5f, 1, -0.25f});
}

TEST_CASE("cpu and reference give the same bits wherever no sum is involved", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  for (const std::size_t n : lengths) {
    std::vector<std::vector<float>> results;
    for (Device* device : {cpu.get(), reference.get()}) {
      auto a = random_numbers(n, 1), b = random_numbers(n, 2), c = random_numbers(n, 3), d = poisoned(n), e = poisoned(n);
      device->run(Copy{a, d});
      device->run(Fill{0.25f, e});
      device->run(Add{d, e});
      device->run(Scale{0.7f, e});
      device->run(Clamp{0.5f, e});
      device->run(LimitRowNorms{n, 1, 0.4f, e});
      device->run(Descend{0.1f, 0.01f, d, e});
      device->run(BlockFilter{0.9f, 1.1f, 0.4f, 0.9f, a, b, c});
      device->run(MomentumUpdate{0.1f, 0.9f, true, 0.01f, e, a, b});
      auto squares = random_numbers(n, 4);
      for (float& square : squares) square *= square;
      device->run(AdamUpdate{{0.02, 0.9, 0.999, 1.7, 1e-8, 0.25, 0.01, 0.003}, a, c, squares, e});
      device->run(ActivationBackward{Activation::sigmoid, a, c});
      device->run(ActivationBackward{Activation::relu, b, c});
      for (const auto& part : {b, c, d, e}) a.insert(a.end(), part.begin(), part.end());
      results.push_back(a);
    }
    CHECK(same_bits(results[0], results[1]));
  }
}

TEST_CASE("cpu bias_gradient agrees with the reference and overwrites NaN where keep is 0", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  const float keep = GENERATE(0.f, 0.9f);
  const std::size_t batch = GENERATE(0u, 1u, 7u, 256u);
  const std::size_t out = GENERATE(1u, 10u, 16u, 37u, 130u);
  const auto dz = random_numbers(batch * out, 1);
  auto dbias = keep == 0 ? poisoned(out) : random_numbers(out, 2);
  auto expected = dbias;
  cpu->run(BiasGradient{batch, out, dz, keep, dbias});
  reference->run(BiasGradient{batch, out, dz, keep, expected});
  CHECK(distance(dbias, expected) < sum_tolerance(batch));
}

TEST_CASE("copy_columns moves a part of each row and leaves the rest as it is", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::vector<float> part = {1, 2, 3, 4};
  std::vector<float> whole = {9, 9, 9, 9, 9, 9};
  device->run(CopyColumns{2, 2, 2, part, 3, std::span<float>(whole).subspan(1)});
  CHECK(whole == std::vector<float>{9, 1, 2, 9, 3, 4});
  std::vector<float> back(4);
  device->run(CopyColumns{2, 2, 3, std::span<const float>(whole).subspan(1), 2, back});
  CHECK(back == part);
  device->run(CopyColumns{0, 2, 3, {}, 2, {}});
  CHECK_THROWS_AS(device->run(CopyColumns{2, 3, 2, part, 3, whole}), std::logic_error);
  CHECK_THROWS_AS(device->run(CopyColumns{2, 2, 2, part, 3, whole}), std::logic_error);
}

TEST_CASE("activation_backward multiplies by the slope", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::vector<float> y = {-0.5f, 0, 0.25f, 0.5f};
  const auto slopes = [&](Activation f) {
    std::vector<float> dz = {2, 2, 2, 2};
    device->run(ActivationBackward{f, y, dz});
    return dz;
  };
  CHECK(slopes(Activation::identity) == std::vector<float>{2, 2, 2, 2});
  CHECK(slopes(Activation::sigmoid) == std::vector<float>{-1.5f, 0, 0.375f, 0.5f});
  CHECK(slopes(Activation::tanh) == std::vector<float>{1.5f, 2, 1.875f, 1.5f});
  CHECK(slopes(Activation::relu) == std::vector<float>{0, 0, 2, 2});
}

TEST_CASE("a momentum that dies away ends as zero on the processor, where denormal numbers would be slow", "[backend]") {
  const auto device = make_device("cpu");
  const float dying = 1e-39f;
  std::vector<float> g(33), v(33, dying), w(33, 1.f), sum(33, dying);
  device->run(MomentumUpdate{0.1f, 0.9f, false, 0, g, v, w});
  CHECK(v == std::vector<float>(33, 0.f));
  device->run(Add{v, sum});
  CHECK(sum == std::vector<float>(33, 0.f));
  volatile float mine = dying;  // nobody else's arithmetic is touched
  CHECK(mine * 0.5f > 0);
}
