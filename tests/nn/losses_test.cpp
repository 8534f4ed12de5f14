#include <algorithm>

#include "catch.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::nn;
using namespace paragrad::nn::testing;

TEST_CASE("a weight multiplies what a sample adds to any loss that takes weights", "[nn]") {
  constexpr std::size_t rows = 3, width = 4;
  const auto device = backend::make_device(GENERATE("reference", "cpu"));
  const Samples outputs(rows, width, width);
  const std::vector<float> weights{2, 0, 0.5f};
  const auto run = [&](const std::string& name, core::Range part, std::span<const float> of_rows,
                       std::vector<float>& gradient) {
    data::Batch batch = outputs.part(part.begin, part.end);
    batch.columns.weights = of_rows;
    gradient.assign(batch.features.begin(), batch.features.end());
    backend::LossSum sum;
    make_loss(name)->run(*device, batch, width, gradient, &sum);
    return sum.loss;
  };
  std::size_t weighted = 0;
  for (const std::string& name : loss_catalogue().names()) {
    if (!loss_entry(name).takes_weights) continue;
    CAPTURE(name);
    weighted += 1;
    std::vector<float> all, one;
    const double loss = run(name, {0, rows}, weights, all);
    double expected = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      expected += double{weights[row]} * run(name, {row, row + 1}, {}, one);
      for (std::size_t j = 0; j < width; ++j) CHECK(all[row * width + j] == Approx(weights[row] * one[j]));
    }
    CHECK(loss == Approx(expected));
  }
  CHECK(weighted >= 3);
}
