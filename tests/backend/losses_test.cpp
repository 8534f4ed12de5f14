#include "catch.hpp"
#include "tests/backend/sums.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::testing;

TEST_CASE("cpu losses agree with the reference", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  const std::size_t batch = GENERATE(1u, 3u, 64u);
  const std::size_t classes = GENERATE(1u, 2u, 10u, 16u, 17u, 1000u);
  const auto labels = random_labels(batch, classes);
  auto z = random_numbers(batch * classes, 1);
  for (float& v : z) v *= 8;
  auto expected = z, y = z, y_expected = z;

  const LossSum loss = softmax_cross_entropy(*cpu, batch, classes, labels, z);
  const LossSum wanted = softmax_cross_entropy(*reference, batch, classes, labels, expected);
  CHECK(loss.loss == Approx(wanted.loss).epsilon(1e-6).margin(1e-6));
  CHECK(loss.errors == wanted.errors);
  CHECK(distance(z, expected) < 1e-6);

  const LossSum square = squared_error(*cpu, batch, classes, labels, y);
  const LossSum square_wanted = squared_error(*reference, batch, classes, labels, y_expected);
  CHECK(square.loss == Approx(square_wanted.loss));
  CHECK(square.errors == square_wanted.errors);
  CHECK(distance(y, y_expected) < 1e-6);
}

TEST_CASE("softmax cross-entropy of equal logits is log(classes), and its gradient p - onehot", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> z = {3, 3, 3, 3};
  const LossSum loss = softmax_cross_entropy(*device, 1, 4, std::vector<std::int32_t>{1}, z);
  CHECK(loss.loss == Approx(std::log(4.0)));
  CHECK(z == std::vector<float>{0.25f, -0.75f, 0.25f, 0.25f});
  CHECK(loss.errors == 1);  // of equal outputs the first counts, and that is not the label
}

TEST_CASE("label smoothing is the loss of the label and of all classes, mixed", "[backend]") {
  const std::size_t classes = 5, label = 3;
  const double smoothing = 0.15;
  const std::vector<double> logits{0.3, -1.2, 2.0, 0.1, -0.4};
  const auto of_label = [&](std::int32_t wanted, double share, double weight, std::vector<double>& gradient) {
    std::vector<double> row = logits;
    const std::vector<std::int32_t> labels{wanted};
    LossSum sum;
    run_reference(SoftmaxCrossEntropyOf<double>{1, classes, labels, row, &sum, share});
    for (std::size_t j = 0; j < classes; ++j) gradient[j] += weight * row[j];
    return weight * sum.loss;
  };
  std::vector<double> mixed(classes), smoothed(classes);
  double loss = of_label(label, 0, 1 - smoothing, mixed);
  for (std::size_t j = 0; j < classes; ++j)
    loss += of_label(static_cast<std::int32_t>(j), 0, smoothing / static_cast<double>(classes), mixed);
  CHECK(of_label(label, smoothing, 1, smoothed) == Approx(loss).epsilon(1e-14));
  for (std::size_t j = 0; j < classes; ++j) CHECK(smoothed[j] == Approx(mixed[j]).epsilon(1e-14));
}

TEST_CASE("the focal loss is the cross-entropy weighted by (1 - p)^gamma", "[backend]") {
  const std::size_t batch = 7, classes = 5;
  const auto labels = random_labels(batch, classes);
  const auto numbers = random_numbers(batch * classes, 1);
  const std::vector<double> logits(numbers.begin(), numbers.end());
  auto plain = logits, focal = logits;
  LossSum of_plain, of_focal;
  run_reference(SoftmaxCrossEntropyOf<double>{batch, classes, labels, plain, &of_plain});
  run_reference(FocalLossOf<double>{batch, classes, labels, focal, &of_focal, 0});
  CHECK(of_focal.loss == Approx(of_plain.loss).epsilon(1e-14));
  CHECK(of_focal.errors == of_plain.errors);
  for (std::size_t i = 0; i < logits.size(); ++i) CHECK(focal[i] == Approx(plain[i]).epsilon(1e-14));

  // Lin et al.: with gamma = 2, an example classified with p = 0.9 has a 100 times lower loss than with cross-entropy.
  std::vector<double> sure{std::log(9.0), 0};
  LossSum low;
  run_reference(FocalLossOf<double>{1, 2, std::vector<std::int32_t>{0}, sure, &low, 2});
  CHECK(low.loss == Approx(-std::log(0.9) / 100));
}

TEST_CASE("a weight multiplies a row's loss and gradient, and leaves errors alone", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t batch = 6, classes = 5;
  const std::vector<std::int32_t> labels{0, 4, -1, 2, 1, 3};
  const std::vector<float> weights{2, 0, 7, 0.5f, 1, 3}, logits = random_numbers(batch * classes, 1);
  const auto check = [&](const auto& run) {
    std::vector<float> expected(logits.size());
    double loss = 0;
    std::int64_t errors = 0;
    for (std::size_t s = 0; s < batch; ++s) {
      std::vector<float> row(logits.begin() + static_cast<std::ptrdiff_t>(s * classes),
                             logits.begin() + static_cast<std::ptrdiff_t>((s + 1) * classes));
      const LossSum of_row =
          loss_of(*device, [&](LossSum* into) { run(1, std::span(labels).subspan(s, 1), row, into, {}); });
      loss += static_cast<double>(weights[s]) * of_row.loss;
      errors += of_row.errors;
      for (std::size_t j = 0; j < classes; ++j) expected[s * classes + j] = weights[s] * row[j];
    }
    std::vector<float> all = logits;
    const LossSum sum = loss_of(*device, [&](LossSum* into) { run(batch, labels, all, into, weights); });
    CHECK(sum.loss == Approx(loss));
    CHECK(sum.errors == errors);
    CHECK(distance(all, expected) < 1e-6);
  };
  using Labels = std::span<const std::int32_t>;
  using Weights = std::span<const float>;
  check([&](std::size_t rows, Labels said, std::span<float> z, LossSum* into, Weights weigh) {
    device->run(SoftmaxCrossEntropy{rows, classes, said, z, into, 0.1f, weigh});
  });
  check([&](std::size_t rows, Labels said, std::span<float> z, LossSum* into, Weights weigh) {
    device->run(SquaredError{rows, classes, said, z, into, {}, weigh});
  });
  check([&](std::size_t rows, Labels said, std::span<float> z, LossSum* into, Weights weigh) {
    device->run(FocalLoss{rows, classes, said, z, into, 2, weigh});
  });
}

TEST_CASE("the focal loss is finite for outputs of any finite size", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const float gamma = GENERATE(0.f, 0.05f, 0.5f, 1.f, 2.f, 50.f);
  std::vector<float> z{1e4f, -1e4f, 0, -1e4f, 1e4f, 1e4f, 20, 0, 0, 95, 0, 0};
  const std::vector<std::int32_t> labels{0, 0, 0, 0};
  const LossSum loss = focal_loss(*device, 4, 3, labels, z, gamma);
  CHECK(loss.loss == Approx(2e4 + std::log(2.0)).epsilon(1e-6));  // the second row's: its p is 0, the others' almost 1
  CHECK(loss.errors == 1);
  CHECK(std::ranges::all_of(z, [](float gradient) { return std::isfinite(gradient); }));
  CHECK(z[3] == -1);
}

TEST_CASE("softmax is stable for logits of any finite size", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> z = {1e4f, -1e4f, 0, -1e4f, 1e4f, 1e4f};
  const LossSum loss = softmax_cross_entropy(*device, 2, 3, std::vector<std::int32_t>{0, 0}, z);
  CHECK(loss.loss == Approx(2e4 + std::log(2.0)));
  CHECK(loss.errors == 1);
  CHECK(z == std::vector<float>{0, 0, 0, -1, 0.5f, 0.5f});
}

TEST_CASE("a NaN or infinite output makes the loss NaN and the sample an error", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t classes = GENERATE(3u, 16u, 40u);
  const std::size_t place = GENERATE(0u, 1u, 2u);
  const float bad = GENERATE(as<float>{}, not_a_number, std::numeric_limits<float>::infinity());
  auto z = random_numbers(2 * classes, 1);
  z[classes + place] = bad;
  const LossSum loss = softmax_cross_entropy(*device, 2, classes, std::vector<std::int32_t>{0, 2}, z);
  CHECK(std::isnan(loss.loss));
  CHECK(loss.errors >= 1);

  auto y = random_numbers(classes, 1);
  y[place] = not_a_number;
  const LossSum square = squared_error(*device, 1, classes, std::vector<std::int32_t>{0}, y);
  CHECK(std::isnan(square.loss));
  CHECK(square.errors == 1);
}

TEST_CASE("a label outside the classes is refused; -1 has neither loss nor gradient", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> unlabelled{1, 2, 3};
  const LossSum none = softmax_cross_entropy(*device, 1, 3, std::vector<std::int32_t>{-1}, unlabelled);
  CHECK(none.loss == 0);
  CHECK(none.errors == 0);
  CHECK(unlabelled == std::vector<float>{0, 0, 0});

  const std::int32_t label = GENERATE(-2, 3, 1000000);
  std::vector<float> z(3);
  CHECK_THROWS_AS(softmax_cross_entropy(*device, 1, 3, std::vector<std::int32_t>{label}, z), std::logic_error);
  CHECK_THROWS_AS(squared_error(*device, 1, 3, std::vector<std::int32_t>{label}, z), std::logic_error);
}

TEST_CASE("the squared error of targets is half the squared distance, its gradient the difference", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> y{1, -2, 5, 0.5f, 7, 7};
  const std::vector<float> targets{3, -2, 4, 1, 1, 1};
  const std::vector<std::int32_t> labels{0, 0, -1};  // the last row has no loss
  const LossSum sum = loss_of(*device, [&](LossSum* into) {
    device->run(SquaredError{3, 2, labels, y, into, std::span(targets)});
  });
  CHECK(sum.loss == 0.5 * (4 + 0 + 1 + 0.25));
  CHECK(sum.errors == 0);
  CHECK(y == std::vector<float>{-2, 0, 1, -0.5f, 0, 0});
  CHECK_THROWS_AS(device->run(SquaredError{3, 2, labels, y, nullptr, std::span(targets).first(4)}), std::logic_error);
}
