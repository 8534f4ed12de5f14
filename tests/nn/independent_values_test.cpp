// Operations on images against what another program computes for the same networks (independent_values.py).
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "catch.hpp"
#include "nn/model.hpp"
#include "nn/node_text.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::nn;
using namespace paragrad::nn::testing;

namespace {

struct IndependentCase {
  std::string name, network;
  std::vector<std::int32_t> labels;
  std::map<std::string, std::vector<float>> arrays;  // features, parameters, outputs, and running or gradient
};

std::vector<IndependentCase> independent_cases() {
  std::vector<IndependentCase> cases;
  std::ifstream file(PARAGRAD_SOURCE "/tests/nn/independent_values.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, rest;
    words >> key >> std::ws;
    if (key == "case") {
      cases.push_back({});
      std::getline(words, cases.back().name);
    } else if (key == "network") {
      std::getline(words, cases.back().network);
    } else if (key == "labels") {
      for (std::int32_t label = 0; words >> label;) cases.back().labels.push_back(label);
    } else if (key != "#") {
      for (float value = 0; words >> value;) cases.back().arrays[key].push_back(value);
    }
  }
  return cases;
}

/// The largest difference, relative to the largest value.
double difference(std::span<const float> found, const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size());
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return worst / largest;
}

}  // namespace

TEST_CASE("operations on images have the values and gradients that PyTorch computes", "[nn]") {
  const std::vector<IndependentCase> cases = independent_cases();
  REQUIRE(cases.size() == 44);
  for (const std::string device_name : {"reference", "cpu"})
    for (const IndependentCase& of : cases) {
      INFO(of.name << " on " << device_name);
      const auto device = backend::make_device(device_name);
      const std::size_t rows = of.labels.size();
      Model model(*device, make_node_graph(of.network), rows);
      const std::vector<float>& parameters = of.arrays.at("parameters");
      REQUIRE(parameters.size() == model.parameter_count());
      const bool training = of.arrays.contains("gradient");
      if (!training) std::ranges::copy(of.arrays.at("running"), model.buffers().begin());
      const data::Batch batch{of.arrays.at("features"), of.labels};
      CHECK(difference(model.forward(*device, parameters, batch, training), of.arrays.at("outputs")) < 2e-6);
      if (!training) continue;
      std::vector<float> gradient(parameters.size());
      loss_of(*device, model, "squared_error", batch);
      model.backward(*device, parameters, batch, {gradient}, [](core::Range) {});
      CHECK(difference(gradient, of.arrays.at("gradient")) < 4e-6);
    }
}
