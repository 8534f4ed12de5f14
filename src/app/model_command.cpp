#include <algorithm>
#include <array>

#include "app/commands.hpp"
#include "cli/described_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "nn/model.hpp"
#include "nn/node_costs.hpp"
#include "nn/node_text.hpp"
#include "optim/local_optimiser.hpp"
#include "train/memory_need.hpp"
#include "worlds/shared_options.hpp"

namespace paragrad::app {
namespace {

struct Arguments {
  std::string model;
  std::size_t minibatch = 64;
  std::string optimiser = "momentum";
  std::string format = "table";

  void describe(core::OptionList& list) {
    list.argument("name", model, "model, as for train --model").required().expand(nn::read_model);
    list.number("minibatch", minibatch, core::a_minibatch, "samples of the minibatch whose memory is printed");
    list.entry("optimiser", optimiser, optim::optimiser_catalogue, "local optimiser whose memory is counted");
    list.choice("format", format, {"table", "json", "dot"}, "table, json, or dot for Graphviz");
  }
};

/// What a graph amounts to, for one sample (or frame) and for a minibatch.
struct Totals {
  nn::NodeCost per_sample;
  double replica_bytes = 0;  // parameters, their gradient and the optimiser's state
  double copy_bytes = 0;     // parameters once more: at the start, and while they are stored
  double sample_bytes = 0;   // features in training and in validation, and all of a training pass that is alive at once

  /// Without the program, its libraries and what was read of the data file.
  double training_bytes(std::size_t minibatch) const {
    return replica_bytes + copy_bytes + static_cast<double>(minibatch) * sample_bytes;
  }
};

Totals totals_of(const nn::Graph& graph, const std::vector<nn::NodeCost>& costs, const Arguments& arguments) {
  Totals totals;
  for (const nn::NodeCost& cost : costs) {
    totals.per_sample.multiplications += cost.multiplications;
    totals.per_sample.flops += cost.flops;
    totals.per_sample.activation_bytes += cost.activation_bytes;
  }
  train::TrainingOptions options;
  options.optimiser.name = arguments.optimiser;
  totals.replica_bytes = train::least_memory_bytes(options, graph, 1);
  totals.copy_bytes = sizeof(float) * static_cast<double>(graph.model_size());
  totals.sample_bytes = sizeof(float) * static_cast<double>(2 * graph.inputs() + graph.plan().floats_per_row);
  return totals;
}

std::string shape_of(const nn::Graph& graph, const nn::Node& node) {
  std::string text;
  for (const nn::ValueId output : node.outputs)
    text += (text.empty() ? "" : ", ") + nn::describe(graph.values()[output].type.shape);
  return text;
}

/// A number with a comma after every three digits.
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

const char* row_of(const nn::Graph& graph) {
  if (graph.tokens()) return "token";
  return graph.reads_sequences() ? "frame" : "sample";
}

std::string bytes(double count) { return core::format_quantity(count, core::Unit::bytes); }

void print_table(const nn::Graph& graph, const std::vector<nn::NodeCost>& costs, const Arguments& arguments) {
  std::vector<std::array<std::string, 7>> rows{
      {"node", "operation", "output", "parameters", "mult-adds", "flops", "activations"}};
  rows.push_back({"input", "", nn::describe(graph.values().front().type.shape), "", "", "",
                  bytes(sizeof(float) * static_cast<double>(graph.inputs()))});
  for (std::size_t n = 0; n < costs.size(); ++n) {
    const nn::Node& node = graph.nodes()[n];
    rows.push_back({node.name, node.op->name(), shape_of(graph, node), grouped(node.owned.size()),
                    grouped(costs[n].multiplications), grouped(costs[n].flops),
                    bytes(static_cast<double>(costs[n].activation_bytes))});
  }
  const Totals totals = totals_of(graph, costs, arguments);
  rows.push_back({"total", "", "", grouped(graph.parameter_count()), grouped(totals.per_sample.multiplications),
                  grouped(totals.per_sample.flops), bytes(static_cast<double>(totals.per_sample.activation_bytes))});
  std::array<std::size_t, 7> widths{};
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += c < 3 ? core::format("{:<{}}  ", row[c], widths[c]) : core::format("{:>{}}  ", row[c], widths[c]);
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
  fmt::print(
      "\nPer {}: mult-adds of the forward pass; flops of the forward and the backward pass.\n"
      "Training with {}: {} for parameters, gradient and optimiser, {} for a copy of the model, and {} per {}; {} for a "
      "minibatch of {}.\n",
      row_of(graph), arguments.optimiser, bytes(totals.replica_bytes), bytes(totals.copy_bytes), bytes(totals.sample_bytes),
      row_of(graph), bytes(totals.training_bytes(arguments.minibatch * graph.rows_per_sample())), arguments.minibatch);
}

void print_json(const nn::Graph& graph, const std::vector<nn::NodeCost>& costs, const Arguments& arguments) {
  core::Json nodes = core::Json::array();
  for (std::size_t n = 0; n < costs.size(); ++n) {
    const nn::Node& node = graph.nodes()[n];
    core::Json inputs = core::Json::array(), outputs = core::Json::array();
    for (const nn::ValueId value : node.inputs) inputs.push_back(graph.values()[value].name);
    for (const nn::ValueId value : node.outputs)
      outputs.push_back({{"name", graph.values()[value].name}, {"shape", graph.values()[value].type.shape.extents}});
    nodes.push_back({{"name", node.name},
                     {"operation", node.op->name()},
                     {"inputs", inputs},
                     {"outputs", outputs},
                     {"parameters", node.owned.size()},
                     {"mult_adds", costs[n].multiplications},
                     {"flops", costs[n].flops},
                     {"activation_bytes", costs[n].activation_bytes}});
  }
  const Totals totals = totals_of(graph, costs, arguments);
  const core::Json all{{"model", arguments.model},
                       {"input", graph.values().front().type.shape.extents},
                       {"nodes", nodes},
                       {"parameters", graph.parameter_count()},
                       {"buffers", graph.buffer_count()},
                       {"mult_adds", totals.per_sample.multiplications},
                       {"flops", totals.per_sample.flops},
                       {"activation_bytes", totals.per_sample.activation_bytes},
                       {"optimiser", arguments.optimiser},
                       {"replica_bytes", totals.replica_bytes},
                       {"copy_bytes", totals.copy_bytes},
                       {"training_bytes_per_sample", totals.sample_bytes},
                       {"minibatch", arguments.minibatch},
                       {"training_bytes", totals.training_bytes(arguments.minibatch * graph.rows_per_sample())}};
  fmt::print("{}\n", core::text_of(all, 2));
}

/// For Graphviz: nodes, and on the edges the shapes of the values.
void print_dot(const nn::Graph& graph) {
  const auto name_of = [&](nn::ValueId value) {
    const auto producer = graph.values()[value].producer;
    return producer ? graph.nodes()[*producer].name : std::string("input");
  };
  fmt::print("digraph model {{\n  node [shape=box];\n  \"input\";\n");
  for (const nn::Node& node : graph.nodes()) {
    fmt::print("  \"{}\" [label=\"{}\\n{}\"];\n", node.name, node.name, node.op->name());
    for (const nn::ValueId value : node.inputs)
      fmt::print("  \"{}\" -> \"{}\" [label=\"{}\"];\n", name_of(value), node.name,
                 nn::describe(graph.values()[value].type.shape));
  }
  fmt::print("}}\n");
}

void describe(const Arguments& arguments) {
  const nn::Graph graph = nn::make_graph(arguments.model);
  if (arguments.format == "dot") return print_dot(graph);
  const std::vector<nn::NodeCost> costs = nn::node_costs(graph);
  if (arguments.format == "table") return print_table(graph, costs, arguments);
  print_json(graph, costs, arguments);
}

}  // namespace

cli::Command model_command() {
  auto parser = cli::make_parser("model", "Print a model's operations, shapes, parameters, work and memory.");
  auto arguments = std::make_shared<Arguments>();
  cli::add_options(*parser, *arguments);
  worlds::check_activations(*parser->get_option("name"));
  cli::set_examples(*parser,
                    "paragrad model 784-512-256-10:relu\n"
                    "paragrad model zoo:resnet50 --minibatch 32");
  return {parser, [arguments] {
            describe(*arguments);
            return cli::success;
          }};
}

}  // namespace paragrad::app
