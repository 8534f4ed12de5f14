#include "nn/node_text.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/printable.hpp"
#include "nn/ops/activate.hpp"
#include "nn/ops/op_entry.hpp"
#include "system/files.hpp"

namespace paragrad::nn {
namespace {

constexpr std::size_t most_elements = 1'000'000'000;

const std::vector<OpEntry>& op_entries() {
  static const std::vector<OpEntry> entries{
#define OP(name) name##_op(),
#include "nn/ops/catalogue.def"
#undef OP
  };
  return entries;
}

[[noreturn]] void refuse(std::string_view statement, const std::string& why) {
  constexpr std::size_t longest = 100;
  const bool whole = statement.size() <= longest;
  throw core::ConfigError(
      core::format("network: '{}{}' {}", core::printable(statement.substr(0, longest)), whole ? "" : "…", why));
}

std::vector<std::string> words_of(std::string_view statement) {
  std::istringstream stream{std::string(statement)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// The parts between semicolons that are not empty.
std::vector<std::string> statements_of(std::string_view text) {
  std::vector<std::string> statements;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::vector<std::string> words = words_of(text.substr(0, end));
    if (!words.empty()) statements.push_back(core::format("{}", core::join(words, " ")));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return statements;
}

/// "28x28x1"
Shape shape_of(std::string_view statement, std::string_view text) {
  Shape shape{};
  std::size_t size = 1;
  while (true) {
    std::size_t extent = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc{} || extent == 0 || extent > most_elements / size)
      refuse(statement, "does not name a size such as 784 or 28x28x1");
    shape.extents.push_back(extent);
    size *= extent;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    if (text.empty()) return shape;
    if (text.front() != 'x') refuse(statement, "does not name a size such as 784 or 28x28x1");
    text.remove_prefix(1);
  }
}

/// A node as it is written.
struct Statement {
  std::string text, name, op;
  std::vector<std::string> inputs{};
  core::Settings settings{};
  std::string shared{};  ///< the node whose parameters it uses, or empty
};

Statement parse(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() < 3 || words[1] != "=") refuse(text, "is not NAME = OPERATION INPUT…");
  if (words[0].find('=') != std::string::npos) refuse(text, "has a name with '='");
  Statement node{text, words[0], words[2]};
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::size_t sign = words[i].find('=');
    if (sign == std::string::npos) {
      node.inputs.push_back(words[i]);
    } else if (!node.settings.insert({words[i].substr(0, sign), words[i].substr(sign + 1)}).second) {
      refuse(text, core::format("gives {} twice", words[i].substr(0, sign)));
    }
  }
  if (const auto shared = node.settings.extract("shared")) node.shared = shared.mapped().text();
  return node;
}

bool keeps_initial_weights(const std::string& op) {
  return op == "batch_norm" || op == "group_norm" || op == "layer_norm" || op == "rms_norm" || op == "lrn" ||
         op == "dropout";
}

/// The activation function that follows a node, or the identity.
backend::Activation next_function(const std::vector<Statement>& nodes, std::size_t of) {
  for (std::size_t i = of + 1; i < nodes.size(); ++i) {
    if (std::ranges::find(nodes[i].inputs, nodes[of].name) == nodes[i].inputs.end()) continue;
    if (const auto function = backend::find_activation(nodes[i].op)) return *function;
    return keeps_initial_weights(nodes[i].op) ? next_function(nodes, i) : backend::Activation::identity;
  }
  return backend::Activation::identity;
}

const OpEntry& entry_of(const Statement& node) {
  for (const OpEntry& entry : op_entries())
    if (entry.info.name == node.op) return entry;
  std::vector<std::string> known = op_catalogue().names();
  for (const auto& name : backend::activation_names()) known.emplace_back(name);
  throw core::unknown_name("operation", node.op, known);
}

std::shared_ptr<const Op> make_op(const std::vector<Statement>& nodes, std::size_t i) {
  const Statement& node = nodes[i];
  if (const auto function = backend::find_activation(node.op)) {
    if (node.inputs.size() != 1 || !node.settings.empty()) refuse(node.text, "is not NAME = FUNCTION INPUT");
    return std::make_shared<const Activate>(*function);
  }
  const OpEntry& entry = entry_of(node);
  if (node.inputs.size() < entry.least_inputs || node.inputs.size() > entry.most_inputs)
    refuse(node.text, entry.least_inputs == entry.most_inputs
                          ? core::format("needs {} input{}", entry.least_inputs, entry.least_inputs == 1 ? "" : "s")
                          : core::format("needs {} to {} inputs", entry.least_inputs, entry.most_inputs));
  try {
    core::check_keys(core::format("network: '{}': {}", node.text, node.op), entry.info.options, node.settings);
    return entry.make(node.settings, next_function(nodes, i));
  } catch (const core::OptionError& error) {
    refuse(node.text, core::format("has a wrong {}: {}", error.option, error.reason));
  }
}

/// "tokens=65", whose name is `key`.
std::size_t count_of(std::string_view statement, std::string_view key, std::string_view text) {
  std::size_t count = 0;
  const std::size_t before = key.size() + 1;
  if (text.starts_with(key) && text.size() > before && text[key.size()] == '=') {
    const auto [rest, error] = std::from_chars(text.data() + before, text.data() + text.size(), count);
    if (error == std::errc{} && rest == text.data() + text.size() && count > 0 && count <= most_elements) return count;
  }
  refuse(statement, "does not name a vocabulary and a length such as tokens=65 context=64");
}

struct Network {
  std::string name = "network";
  Shape input{};
  std::optional<TokenInput> tokens{};
  std::vector<Statement> nodes{};
};

Network parse_network(std::string_view text) {
  Network network;
  for (const std::string& statement : statements_of(text)) {
    const std::vector<std::string> words = words_of(statement);
    if (words[0] == "network" && words.size() == 2 && network.nodes.empty()) {
      network.name = words[1];
    } else if (words[0] == "input" && words.size() == 2 && network.input.extents.empty()) {
      network.input = shape_of(statement, words[1]);
    } else if (words[0] == "input" && words.size() == 3 && network.input.extents.empty() && words[1] != "=") {
      network.tokens = {count_of(statement, "tokens", words[1]), count_of(statement, "context", words[2])};
      network.input.extents = {1};
    } else {
      if (network.input.extents.empty())
        refuse(statement, "comes before the input: begin with 'input 28x28x1', for example");
      network.nodes.push_back(parse(statement));
    }
  }
  if (network.nodes.empty()) throw core::ConfigError("the network has no nodes");
  return network;
}

}  // namespace

bool is_node_text(std::string_view model) { return model.find(';') != model.npos; }

std::string read_model(const std::string& option) {
  constexpr std::string_view file = "file:";
  return option.starts_with(file) ? read_node_text(option.substr(file.size())) : option;
}

std::string read_node_text(const std::string& path) {
  std::istringstream lines(system::read_text(path));
  std::string text;
  for (std::string line; std::getline(lines, line);) text += line.substr(0, line.find('#')) + ";";
  std::string whole;
  for (const std::string& statement : statements_of(text)) whole += statement + "; ";
  if (whole.empty()) throw core::ConfigError(core::format("'{}' describes no network", path));
  whole.pop_back();
  return whole;
}

Graph make_node_graph(std::string_view text) {
  const Network network = parse_network(text);
  GraphBuilder graph = network.tokens ? GraphBuilder::of_text(*network.tokens) : GraphBuilder({network.input});
  std::map<std::string, ValueId, std::less<>> values{{"input", GraphBuilder::input}};
  ValueId last = GraphBuilder::input;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Statement& node = network.nodes[i];
    std::vector<ValueId> inputs;
    for (const std::string& input : node.inputs) {
      const auto known = values.find(input);
      if (known == values.end()) refuse(node.text, core::format("takes '{}', which no earlier line defines", input));
      inputs.push_back(known->second);
    }
    if (values.contains(node.name)) refuse(node.text, "defines a name that is taken");
    std::vector<std::optional<ParameterId>> shared;
    if (!node.shared.empty()) {
      const auto known = values.find(node.shared);
      if (known == values.end() || known->second == GraphBuilder::input)
        refuse(node.text, core::format("shares the parameters of '{}', which no earlier line defines", node.shared));
      shared = graph.parameters_of(known->second);
    }
    last = graph.add_node(node.name, make_op(network.nodes, i), std::move(inputs), shared).front();
    values.insert({node.name, last});
  }
  return std::move(graph).build(last);
}

std::string short_name(const std::string& model) { return is_node_text(model) ? parse_network(model).name : model; }

core::CatalogueInfo op_catalogue() {
  return core::info_of("operation", "operations", op_entries(), "y = {} x in `model` file:NET");
}

}  // namespace paragrad::nn
