// Transformers against what another program computes for the same parameters and tokens (independent_texts.py).
#include <cmath>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "nn/model.hpp"
#include "sanitized.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::nn;
using namespace paragrad::nn::testing;

namespace {

struct IndependentText {
  std::string model;
  std::size_t windows = 0, steps = 0;
  double loss = 0;
  std::vector<double> norms;
};

std::vector<IndependentText> independent_texts() {
  std::vector<IndependentText> cases;
  std::ifstream file(PARAGRAD_SOURCE "/tests/nn/independent_texts.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "case") words >> cases.emplace_back().model;
    if (key == "windows") words >> cases.back().windows >> cases.back().steps;
    if (key == "loss") words >> cases.back().loss;
    for (double norm = 0; key == "norms" && words >> norm;) cases.back().norms.push_back(norm);
  }
  return cases;
}

/// As in the script: scales of normalisation are around 1.
std::vector<float> parameters_of(const Graph& graph) {
  std::vector<float> all(graph.parameter_count());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto hashed = static_cast<std::uint32_t>(i * 2654435761u + 12345u) >> 8;
    all[i] = static_cast<float>((static_cast<double>(hashed) / 0x1p24 - 0.5) * 0.08);
  }
  for (const Parameter& parameter : graph.parameters()) {
    if (!parameter.spec.name.starts_with("scale")) continue;
    const std::size_t width = parameter.spec.matrices.front().rows;
    for (std::size_t i = parameter.range.begin; i < parameter.range.begin + width; ++i) {
      const auto hashed = static_cast<std::uint32_t>(i * 2654435761u + 12345u) >> 8;
      all[i] = static_cast<float>((static_cast<double>(hashed) / 0x1p24 - 0.5) * 0.08 + 1);
    }
  }
  return all;
}

double norm_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("transformers have the losses and gradients that PyTorch computes", "[nn]") {
  const std::vector<IndependentText> cases = independent_texts();
  REQUIRE(cases.size() == 3);
  for (const IndependentText& of : cases) {
    if (sanitized && of.model == "gpt:124m") continue;
    INFO(of.model);
    const auto device = backend::make_device("cpu");
    const std::size_t rows = of.windows * of.steps;
    Model model(*device, make_graph(of.model), rows);
    const std::uint64_t vocabulary = model.graph().outputs();
    std::vector<std::int32_t> tokens(rows), labels(rows);
    for (std::uint64_t w = 0; w < of.windows; ++w)
      for (std::uint64_t t = 0; t < of.steps; ++t) {
        const auto token = [&](std::uint64_t place) {
          return static_cast<std::int32_t>((place * 7919 + place * place * 31) % vocabulary);
        };
        tokens[t * of.windows + w] = token(w * (of.steps + 1) + t);
        labels[t * of.windows + w] = token(w * (of.steps + 1) + t + 1);
      }
    const std::vector<std::uint32_t> active(of.steps, static_cast<std::uint32_t>(of.windows));
    data::Batch batch{.labels = labels, .tokens = tokens, .active = active, .frames_with_loss = rows};
    const std::vector<float> parameters = parameters_of(model.graph());
    std::vector<float> gradient(parameters.size());
    model.forward(*device, parameters, batch);
    CHECK(loss_of(*device, model, "cross_entropy", batch) == Approx(of.loss).epsilon(1e-6));
    model.backward(*device, parameters, batch, {gradient}, [](core::Range) {});
    // The script lists scales and shifts apart.
    std::vector<double> norms;
    for (const core::Matrix& matrix : model.graph().layout())
      norms.push_back(norm_of(matrix.range().of(std::span<const float>(gradient))));
    REQUIRE(norms.size() == of.norms.size());
    for (std::size_t i = 0; i < norms.size(); ++i) {
      CAPTURE(i);
      CHECK(norms[i] == Approx(of.norms[i]).epsilon(1e-4));
    }
  }
}
