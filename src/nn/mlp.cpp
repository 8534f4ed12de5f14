#include <charconv>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/layers/affine.hpp"
#include "nn/model.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn {
namespace {

constexpr std::size_t widest = 1'000'000;
constexpr std::size_t most_layers = 1000;

[[noreturn]] void refuse(const std::string& model, std::string_view part, std::string_view why) {
  throw core::ConfigError(
      core::format("model '{}': '{}' {}; write widths like 784-512-256-10 or 440-5x1024-1000, then :sigmoid, :tanh or :relu",
                   model, part, why));
}

std::size_t number(const std::string& model, std::string_view part, std::string_view digits, std::size_t at_most) {
  std::size_t value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || rest != digits.data() + digits.size() || value < 1 || value > at_most)
    refuse(model, part, core::format("is no number from 1 to {}", at_most));
  return value;
}

/// "5x1024" appends 1024 five times.
void append_widths(const std::string& model, std::string_view part, std::vector<std::size_t>& widths) {
  const std::size_t x = part.find('x');
  const std::size_t times = x == part.npos ? 1 : number(model, part, part.substr(0, x), most_layers);
  const std::size_t width = number(model, part, x == part.npos ? part : part.substr(x + 1), widest);
  widths.insert(widths.end(), times, width);
}

backend::Activation activation(const std::string& model, std::string_view name) {
  if (name == "sigmoid") return backend::Activation::sigmoid;
  if (name == "tanh") return backend::Activation::tanh;
  if (name == "relu") return backend::Activation::relu;
  refuse(model, name, "is no activation");
}

}  // namespace

Layers make_layers(const std::string& model) {
  if (model.starts_with("zoo:")) return make_zoo_model(model.substr(4));
  const std::size_t colon = model.find(':');
  const auto hidden = colon == model.npos ? backend::Activation::sigmoid : activation(model, model.substr(colon + 1));
  std::vector<std::size_t> widths;
  for (std::string_view rest = std::string_view(model).substr(0, colon);;) {
    const std::size_t dash = rest.find('-');
    append_widths(model, rest.substr(0, dash), widths);
    if (dash == rest.npos) break;
    rest.remove_prefix(dash + 1);
  }
  if (widths.size() < 2) refuse(model, model, "needs an input and an output width");
  if (widths.size() > most_layers) refuse(model, model, core::format("has more than {} layers", most_layers));
  Layers layers;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    const bool last = l + 2 == widths.size();
    layers.push_back(std::make_unique<Affine>(widths[l], widths[l + 1], last ? backend::Activation::identity : hidden));
  }
  return layers;
}

}  // namespace paragrad::nn
