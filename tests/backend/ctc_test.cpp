// Connectionist temporal classification against the sum over all paths, written out.
#include "backend/kernels/ctc.hpp"

#include <functional>

#include "catch.hpp"
#include "tests/backend/sums.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

using Labels = std::vector<std::size_t>;
using Logits = std::vector<std::vector<double>>;  // [frames][classes]

constexpr std::int32_t none = -1;

/// -log of the sum over all classes^frames paths that give the labels.
double brute_force(const Logits& logits, const Labels& labels) {
  const std::size_t frames = logits.size(), classes = logits[0].size();
  Logits p = logits;
  for (auto& row : p) {
    double sum = 0;
    for (double& z : row) sum += z = std::exp(z);
    for (double& z : row) z /= sum;
  }
  double all = 0;
  std::vector<std::size_t> path(frames, 0);
  const std::function<void(std::size_t, double)> extend = [&](std::size_t t, double product) {
    if (t == frames) {
      Labels said;
      for (std::size_t i = 0; i < frames; ++i)
        if (path[i] + 1 < classes && (i == 0 || path[i] != path[i - 1])) said.push_back(path[i]);
      if (said == labels) all += product;
      return;
    }
    for (path[t] = 0; path[t] < classes; ++path[t]) extend(t + 1, product * p[t][path[t]]);
  };
  extend(0, 1);
  return -std::log(all);
}

std::vector<float> flat(const Logits& logits) {
  std::vector<float> all;
  for (const auto& row : logits)
    for (const double z : row) all.push_back(static_cast<float>(z));
  return all;
}

std::vector<std::int32_t> in_first_frames(const Labels& labels, std::size_t frames) {
  std::vector<std::int32_t> all(frames, none);
  for (std::size_t i = 0; i < labels.size(); ++i) all[i] = static_cast<std::int32_t>(labels[i]);
  return all;
}

Logits random_logits(std::size_t frames, std::size_t classes, std::uint32_t stream) {
  const auto numbers = random_numbers<double>(frames * classes, stream);
  Logits logits(frames, std::vector<double>(classes));
  for (std::size_t i = 0; i < numbers.size(); ++i)  // as float has them
    logits[i / classes][i % classes] = static_cast<double>(static_cast<float>(3 * numbers[i]));
  return logits;
}

LossSum loss_of(Device& device, std::size_t classes, std::vector<float>& logits, const std::vector<std::int32_t>& labels) {
  const std::vector<std::uint32_t> active(labels.size(), 1);
  return ctc(device, classes, active, labels, logits);
}

}  // namespace

TEST_CASE("ctc is the sum over all paths, and its gradient the derivative of that", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t frames = GENERATE(1u, 2u, 3u, 5u);
  const Labels labels = GENERATE(Labels{}, Labels{1}, Labels{0, 1}, Labels{1, 1}, Labels{0, 1, 0}, Labels{1, 0, 0});
  const std::size_t classes = 3;
  std::size_t needed = labels.size();
  for (std::size_t i = 1; i < labels.size(); ++i) needed += labels[i] == labels[i - 1];
  if (frames < needed) return;
  CAPTURE(device->name(), frames, labels.size(), needed);
  Logits logits = random_logits(frames, classes, static_cast<std::uint32_t>(frames));
  auto gradient = flat(logits);
  const LossSum sum = loss_of(*device, classes, gradient, in_first_frames(labels, frames));
  CHECK(sum.loss == Approx(brute_force(logits, labels)).epsilon(1e-6));
  double worst = 0;
  for (std::size_t t = 0; t < frames; ++t)
    for (std::size_t k = 0; k < classes; ++k) {
      const double here = logits[t][k], h = 1e-5;
      logits[t][k] = here + h;
      const double above = brute_force(logits, labels);
      logits[t][k] = here - h;
      const double below = brute_force(logits, labels);
      logits[t][k] = here;
      worst = std::max(worst, std::abs((above - below) / (2 * h) - double{gradient[t * classes + k]}));
    }
  CHECK(worst < 1e-6);
}

TEST_CASE("ctc in double has the derivative of its loss as gradient", "[backend]") {
  const std::vector<std::uint32_t> active{2, 2, 2, 2, 2, 1, 1, 1};
  const std::size_t classes = 4, frames = 13;
  std::vector<std::int32_t> labels(frames, none);  // 2 0 0 and 1 2
  labels[0] = 2, labels[2] = 0, labels[4] = 0, labels[1] = 1, labels[3] = 2;
  const auto at = random_numbers<double>(frames * classes, 3);
  const auto loss = [&](std::vector<double> z) {
    LossSum sum;
    run_reference(CtcOf<double>{classes, Steps(active), labels, z, &sum});
    return sum.loss;
  };
  auto gradient = at;
  LossSum sum;
  run_reference(CtcOf<double>{classes, Steps(active), labels, gradient, &sum});
  double worst = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto above = at, below = at;
    above[i] += 1e-5;
    below[i] -= 1e-5;
    worst = std::max(worst, std::abs((loss(above) - loss(below)) / 2e-5 - gradient[i]));
  }
  CHECK(worst < 1e-9);
}

TEST_CASE("cpu ctc agrees with the reference on packed sequences of any length", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  const std::size_t classes = GENERATE(2u, 11u, 40u);
  const std::vector<std::size_t> lengths{57, 30, 30, 9, 1};
  std::vector<std::uint32_t> active;
  for (std::uint32_t t = 0, left = 5; t < lengths[0]; ++t) {
    while (lengths[left - 1] <= t) --left;
    active.push_back(left);
  }
  std::size_t frames = 0;
  for (const std::size_t length : lengths) frames += length;
  std::vector<std::int32_t> labels(frames, none);
  const auto random = random_labels(frames, classes - 1);
  for (std::size_t s = 0; s < 4; ++s)  // the last has none
    for (std::size_t u = 0, place = s; u < lengths[s] / 4; place += active[u++]) labels[place] = random[place];
  auto z = random_numbers(frames * classes, 1);
  for (float& v : z) v *= 6;
  auto expected = z;
  const LossSum loss = ctc(*cpu, classes, active, labels, z), wanted = ctc(*reference, classes, active, labels, expected);
  CHECK(loss.loss == Approx(wanted.loss).epsilon(1e-6));
  CHECK(loss.errors == wanted.errors);
  CHECK(distance(z, expected) < 2e-6);
}

TEST_CASE("a packed minibatch gives each sequence what it has alone, bit for bit", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t classes = 5;
  const std::vector<std::uint32_t> active{2, 2, 2, 1};
  const std::vector<std::int32_t> labels{3, 0, 1, none, none, none, none};  // 3 1 and 0
  const auto z = random_numbers(7 * classes, 1);
  auto together = z;
  const LossSum all = ctc(*device, classes, active, labels, together);
  LossSum sum;
  for (const std::vector<std::size_t>& places : {std::vector<std::size_t>{0, 2, 4, 6}, std::vector<std::size_t>{1, 3, 5}}) {
    std::vector<float> mine, expected;
    std::vector<std::int32_t> said;
    for (const std::size_t place : places) {
      const auto row = static_cast<std::ptrdiff_t>(place * classes);
      mine.insert(mine.end(), z.begin() + row, z.begin() + row + static_cast<std::ptrdiff_t>(classes));
      expected.insert(expected.end(), together.begin() + row, together.begin() + row + static_cast<std::ptrdiff_t>(classes));
      said.push_back(labels[place]);
    }
    sum += loss_of(*device, classes, mine, said);
    CHECK(same_bits(mine, expected));
  }
  CHECK(sum.loss == all.loss);
  CHECK(sum.errors == all.errors);
}

TEST_CASE("errors are what the best path must be changed by", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::vector<std::size_t> path{0, 0, 3, 0, 1, 1, 3, 2};  // says 0 0 1 2, the blank being 3
  std::vector<float> best(path.size() * 4, 0.f);
  for (std::size_t t = 0; t < path.size(); ++t) best[4 * t + path[t]] = 2;
  const auto errors = [&](const Labels& labels) {
    auto z = best;
    return loss_of(*device, 4, z, in_first_frames(labels, path.size())).errors;
  };
  CHECK(errors({0, 0, 1, 2}) == 0);
  CHECK(errors({0, 1, 2}) == 1);
  CHECK(errors({0, 0, 2, 2}) == 1);
  CHECK(errors({0, 0, 1, 2, 1}) == 1);
  CHECK(errors({}) == 4);
  CHECK(errors({1, 2, 0}) == 3);
}

TEST_CASE("labels that no path gives have an infinite loss and move nothing", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const Labels labels = GENERATE(Labels{0, 1, 0}, Labels{1, 1});
  auto z = random_numbers(2 * 3, 1);
  std::vector<std::int32_t> said = in_first_frames({labels[0], labels[1]}, 2);
  if (labels.size() == 2) {
    CHECK(std::isinf(loss_of(*device, 3, z, said).loss));
    CHECK(z == std::vector<float>(6, 0.f));
  } else {
    auto enough = random_numbers(3 * 3, 1);
    CHECK(std::isfinite(loss_of(*device, 3, enough, in_first_frames(labels, 3)).loss));
  }
}

TEST_CASE("ctc is stable for logits of any finite size, and NaN makes the loss NaN", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> z{1e4f, -1e4f, 0, -1e4f, 1e4f, -1e4f};  // says 0 1
  CHECK(loss_of(*device, 3, z, {0, 1}).loss == Approx(0).margin(1e-6));
  CHECK(distance(z, std::vector<float>(6, 0.f)) < 1e-6);
  z = {1e4f, -1e4f, 0, -1e4f, 1e4f, -1e4f};
  CHECK(loss_of(*device, 3, z, {1, 0}).loss == Approx(4e4));
  CHECK(distance(z, std::vector<float>{1, -1, 0, -1, 1, 0}) < 1e-6);
  const float bad = GENERATE(as<float>{}, not_a_number, std::numeric_limits<float>::infinity());
  z = {0, bad, 0, 1, 0, 0};
  const LossSum broken = loss_of(*device, 3, z, {1, none});
  CHECK(std::isnan(broken.loss));
  CHECK(broken.errors >= 1);
}

TEST_CASE("a label that names no token is a broken contract", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::int32_t label = GENERATE(2, 7, -2);  // 2 is the blank
  std::vector<float> z(6);
  CHECK_THROWS_AS(loss_of(*device, 3, z, {label, none}), std::out_of_range);
  CHECK_THROWS_AS(ctc(*device, 3, std::vector<std::uint32_t>{1, 2}, std::vector<std::int32_t>(3, none), z),
                  std::logic_error);
}
