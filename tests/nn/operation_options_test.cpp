// Every option of every operation, found by the catalogue, changes what a network computes.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "backend/device.hpp"
#include "catch.hpp"
#include "nn/model.hpp"
#include "nn/node_text.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::nn;
using namespace paragrad::nn::testing;

namespace {

/// A value other than the default for each option.
const std::map<std::string, std::string> values{
    {"outputs", "6"}, {"size", "2"},   {"height", "1"},    {"width", "1"},      {"stride", "2"},    {"dilation", "2"},
    {"zeros", "0"},   {"groups", "2"}, {"bias", "false"},  {"momentum", "0.9"}, {"epsilon", "0.5"}, {"alpha", "0.5"},
    {"beta", "0.5"},  {"k", "2"},      {"p", "0.2"},       {"pad", "1"},        {"flip", "true"},   {"cutout", "2"},
    {"context", "7"}, {"heads", "2"},  {"deviation", "3"}, {"shift", "false"},  {"base", "3"}};

/// Of operations whose default, or whose sizes, are others.
const std::map<std::string, std::string> own_values{{"rms_norm shift", "true"}, {"rotary heads", "3"}};

std::string value_for(const std::string& operation, const std::string& option) {
  const auto own = own_values.find(operation + " " + option);
  return own != own_values.end() ? own->second : values.at(option);
}

/// Operations on windows of a text.
bool reads_text(const std::string& operation) {
  return operation == "embedding" || operation == "positions" || operation == "rotary" || operation == "attention" ||
         operation == "head";
}

/// What the operation cannot do without, and what makes its options count.
std::string needed(const std::string& operation) {
  if (operation == "affine" || operation == "convolution") return " outputs=4";
  if (operation == "group_norm") return " groups=4";
  if (operation == "embedding") return " width=6";
  if (operation == "positions") return " context=4";
  if (operation == "rotary") return " heads=1";
  if (operation == "head") return " outputs=4";
  return operation == "lrn" ? " alpha=0.1" : "";
}

/// `options` with another value for the option of this name.
std::string with(std::string options, const std::string& name, const std::string& own) {
  const std::size_t begin = options.find(" " + name + "=");
  if (begin == options.npos) return options + own;
  return options.replace(begin, std::min(options.find(' ', begin + 1), options.size()) - begin, own);
}

/// input and weighted input, then the operation, followed by a function that is fused into it unless its argument is used
/// twice.
std::string network_of(const std::string& operation, const std::string& options, bool fused) {
  if (reads_text(operation)) {
    const std::string width = operation == "rotary" ? "18" : "6";
    const std::string before = operation == "embedding" ? "" : "e = embedding input width=" + width + "; ";
    return core::format("input tokens=9 context=4; {}a = {} {}{}; r = relu a; {}y = affine {} outputs=3; ", before,
                        operation, before.empty() ? "input" : "e", options, fused ? "" : "s = add r a; ", fused ? "r" : "s");
  }
  const bool first = operation == "augment";
  const std::string from = first ? "input" : "c",
                    both = operation == "add" || operation == "multiply" || operation == "concatenate" ? " c" : "";
  return core::format("input 8x8x4; {}a = {} {}{}{}; r = relu a; {}y = affine {} outputs=3; ",
                      first ? "" : "c = convolution input outputs=4 size=1; ", operation, from, both, options,
                      fused ? "" : "s = add r a; ", fused ? "r" : "s");
}

/// Loss, gradient and running statistics of two minibatches, and the loss of a third with the statistics.
std::vector<double> computed_by(const std::string& text) {
  const auto device = backend::make_device("cpu");
  Model model(*device, make_node_graph(text), 8);
  model.draw(3, 1);
  std::vector<float> parameters(model.graph().model_size()), gradient(model.parameter_count());
  model.graph().initialise(3, parameters);
  std::copy(parameters.begin() + static_cast<std::ptrdiff_t>(gradient.size()), parameters.end(), model.buffers().begin());
  parameters.resize(gradient.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] += 0.01f * static_cast<float>(i % 5);
  std::vector<std::uint32_t> rows(8);
  std::iota(rows.begin(), rows.end(), 0u);
  const Samples samples(24, 8 * 8 * 4, 3);
  std::vector<double> found{static_cast<double>(parameters.size())};
  for (const std::size_t begin : {0u, 8u, 16u}) {
    data::Batch batch = samples.part(begin, begin + 8);
    batch.rows = rows;
    const std::vector<std::int32_t> tokens{0, 8, 3, 3, 1, 5, 8, 2};
    const std::vector<std::uint32_t> active{2, 2, 2, 2};
    if (model.graph().tokens()) {
      batch.tokens = tokens;
      batch.active = active;
    }
    model.forward(*device, parameters, batch, begin < 16);
    found.push_back(loss_of(*device, model, "cross_entropy", batch));
    if (begin == 16) break;
    model.backward(*device, parameters, batch, {gradient, 0}, [](core::Range) {});
    for (const float value : gradient) found.push_back(value);
  }
  return found;
}

}  // namespace

TEST_CASE("every option of every operation changes what a network computes, with a fused function and without", "[nn]") {
  std::set<std::string> used;
  for (const core::EntryInfo& operation : op_catalogue().entries) {
    for (const bool fused : {true, false}) {
      const std::vector<double> plain = computed_by(network_of(operation.name, needed(operation.name), fused));
      for (const double value : plain) REQUIRE(std::isfinite(value));
      for (const core::OptionInfo& option : operation.options) {
        CAPTURE(operation.name, option.name, fused);
        REQUIRE(values.contains(option.name));
        used.insert(option.name);
        const std::string own = " " + option.name + "=" + value_for(operation.name, option.name);
        CHECK(computed_by(network_of(operation.name, with(needed(operation.name), option.name, own), fused)) != plain);
      }
    }
  }
  CHECK(used.size() == values.size());
}
