#include <charconv>
#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "nn/model.hpp"
#include "nn/node_text.hpp"
#include "nn/ops/activate.hpp"
#include "nn/ops/affine.hpp"
#include "nn/ops/lstm.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn {
namespace {

constexpr std::size_t widest = 1'000'000;
constexpr std::size_t most_layers = 1000;

[[noreturn]] void refuse(const std::string& model, std::string_view part, std::string_view why) {
  throw core::ConfigError(core::format(
      "model '{}': '{}' {}; write widths like 784-512-256-10 or 440-5x1024-1000, then :{}, and recurrent layers "
      "like 40-5xblstm256-1000, lstm512p128 (projected) or lstm512+peepholes",
      model, part, why, core::join(backend::activation_names(), " or :")));
}

std::size_t number(const std::string& model, std::string_view part, std::string_view digits, std::size_t at_most) {
  std::size_t value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || rest != digits.data() + digits.size() || value < 1 || value > at_most)
    refuse(model, part, core::format("is not a number from 1 to {}", at_most));
  return value;
}

/// One part between the dashes: a width, or the description of a recurrent layer.
struct Part {
  std::size_t width = 0;
  std::optional<backend::LstmShape> recurrent{};

  std::size_t outputs() const { return recurrent ? recurrent->output_width() : width; }
};

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// "blstm1024p256+peepholes" without its first letters: cells, projected outputs, peepholes.
backend::LstmShape recurrent(const std::string& model, std::string_view part, std::string_view text,
                             std::size_t directions) {
  backend::LstmShape shape{.directions = directions};
  if (const std::size_t plus = text.find('+'); plus != text.npos) {
    if (text.substr(plus) != "+peepholes") refuse(model, part, "has an unknown suffix after '+'");
    shape.peepholes = true;
    text = text.substr(0, plus);
  }
  const std::size_t p = text.find('p');
  shape.projected = p != text.npos;
  shape.cells = number(model, part, text.substr(0, p), widest);
  shape.outputs = shape.projected ? number(model, part, text.substr(p + 1), widest) : shape.cells;
  return shape;
}

/// "5x1024" appends 1024 five times, "5xblstm256" a recurrent layer five times.
void append_parts(const std::string& model, std::string_view part, std::vector<Part>& parts) {
  const std::size_t x = part.find('x');
  const std::size_t times = x == part.npos ? 1 : number(model, part, part.substr(0, x), most_layers);
  std::string_view text = x == part.npos ? part : part.substr(x + 1);
  Part one;
  if (take(text, "blstm"))
    one.recurrent = recurrent(model, part, text, 2);
  else if (take(text, "lstm"))
    one.recurrent = recurrent(model, part, text, 1);
  else
    one.width = number(model, part, text, widest);
  parts.insert(parts.end(), times, one);
}

backend::Activation activation(const std::string& model, std::string_view name) {
  if (const auto known = backend::find_activation(name)) return *known;
  refuse(model, name, "is not an activation function");
}

}  // namespace

Graph make_graph(const std::string& model) {
  if (model.starts_with("zoo:")) return make_zoo_model(model.substr(4));
  if (model.starts_with("gpt:") || model == "gpt") return make_zoo_model(model);
  if (is_node_text(model)) return make_node_graph(model);
  if (const std::string zoo = zoo_name_in(model); !zoo.empty())
    throw core::ConfigError(core::format("'{}' is a network of the zoo: write zoo:{}{}", model, zoo,
                                         model.find(':') == model.npos ? "" : model.substr(model.find(':'))));
  const std::size_t colon = model.find(':');
  const auto hidden = colon == model.npos ? backend::Activation::sigmoid : activation(model, model.substr(colon + 1));
  std::vector<Part> parts;
  for (std::string_view rest = std::string_view(model).substr(0, colon);;) {
    const std::size_t dash = rest.find('-');
    append_parts(model, rest.substr(0, dash), parts);
    if (dash == rest.npos) break;
    rest.remove_prefix(dash + 1);
  }
  if (parts.size() < 2) refuse(model, model, "needs an input and an output width");
  if (parts.front().recurrent || parts.back().recurrent) refuse(model, model, "must begin and end with a width");
  if (parts.size() > most_layers) refuse(model, model, core::format("has more than {} layers", most_layers));
  GraphBuilder graph({{parts.front().width}});
  ValueId x = GraphBuilder::input;
  for (std::size_t l = 1; l < parts.size(); ++l) {
    const std::string name = core::format("layer {}", l);
    const bool last = l + 1 == parts.size();
    if (const auto& shape = parts[l].recurrent) {
      x = graph.add(name, Lstm(*shape), {x});
    } else if (last) {
      x = graph.add(name, Affine(parts[l].width), {x});
    } else {
      x = graph.add(name, Affine(parts[l].width, hidden), {x});
      x = graph.add(core::format("{}/{}", name, backend::activation_name(hidden)), Activate(hidden), {x});
    }
  }
  return std::move(graph).build(x);
}

}  // namespace paragrad::nn
