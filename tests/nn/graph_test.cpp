// Graphs: shapes, layout, the plan of memory, and fusing.
#include "nn/graph.hpp"

#include "backend/device.hpp"
#include "catch.hpp"
#include "core/errors.hpp"
#include "nn/model.hpp"
#include "nn/ops/activate.hpp"
#include "nn/ops/add.hpp"
#include "nn/ops/affine.hpp"
#include "nn/ops/batch_norm.hpp"
#include "nn/ops/concatenate.hpp"
#include "nn/ops/convolution.hpp"
#include "nn/ops/dropout.hpp"
#include "nn/ops/split_channels.hpp"
#include "tests/nn/networks.hpp"

using namespace paragrad;
using namespace paragrad::nn;

namespace {

constexpr ValueId input = GraphBuilder::input;

/// Times at which a value, or its gradient, is needed, found apart from the plan: forward steps, loss, backward steps.
struct Needed {
  std::size_t begin, end, offset, size;
};

/// Every value that a step of the backward pass reads, and every gradient, from the ops' own words.
std::vector<Needed> needed(const Graph& graph) {
  const std::size_t nodes = graph.nodes().size();
  std::vector<Needed> all;
  const auto last_step = [&](NodeId node) {
    std::size_t last = 0;
    for (std::size_t s = 0; s < graph.plan().backward.size(); ++s)
      if (graph.plan().backward[s].node == node) last = nodes + 1 + s;
    return last;
  };
  const auto first_step = [&](NodeId node) {
    for (std::size_t s = 0; s < graph.plan().backward.size(); ++s)
      if (graph.plan().backward[s].node == node) return nodes + 1 + s;
    return std::size_t{0};
  };
  for (ValueId v = 1; v < graph.values().size(); ++v) {
    const Value& value = graph.values()[v];
    std::size_t end = v == graph.output() ? nodes : *value.producer;
    for (const NodeId consumer : value.consumers) {
      end = std::max(end, consumer);
      const Node& node = graph.nodes()[consumer];
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i] == v && node.op->backward_reads_input(i)) end = std::max(end, last_step(consumer));
    }
    all.push_back({*value.producer, end, graph.plan().values[v], value.type.size()});
    if (!value.has_gradient || v == graph.output()) continue;
    const std::size_t begin = value.consumers.empty() ? first_step(*value.producer) : first_step(value.consumers.back());
    all.push_back({begin, last_step(*value.producer), graph.plan().gradients[v], value.type.size()});
  }
  return all;
}

}  // namespace

TEST_CASE("what is needed at the same time never shares memory", "[nn]") {
  const std::string name =
      GENERATE("12-7-5-4:tanh", "6-2xblstm3+peepholes-4", "zoo:googlenet", "zoo:resnet50", "residual", "residual_gelu",
               "shared", "two_outputs", "half_added", "dropout", "batch_norm", "images", "normalising");
  CAPTURE(name);
  const Graph graph = paragrad::test::network(name);
  const std::vector<Needed> all = needed(graph);
  std::size_t most = 0;
  for (std::size_t a = 0; a < all.size(); ++a) {
    most = std::max(most, all[a].offset + all[a].size);
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = all[a].begin <= all[b].end && all[b].begin <= all[a].end;
      const bool overlap = all[a].offset < all[b].offset + all[b].size && all[b].offset < all[a].offset + all[a].size;
      if (together && overlap) FAIL("arrays " << a << " and " << b);
    }
  }
  CHECK(most <= graph.plan().floats_per_row);
}

TEST_CASE("memory of a pass is what must be alive at once, not the sum of all values", "[nn]") {
  const Graph deep = make_graph("100-20x100-100:relu");
  CHECK(deep.plan().floats_per_row <= 21 * 100 + 2 * 100);  // every layer's output, and the gradients of two
  const Graph resnet = make_graph("zoo:resnet50");
  std::size_t all = 0;
  for (const Value& value : resnet.values()) all += value.type.size();
  CHECK(resnet.plan().rows_multiple == 1);            // any number of images begins with cache lines
  CHECK(resnet.plan().floats_per_row < all * 6 / 5);  // although gradients would be as much again
}

TEST_CASE("parameters are complete from their end to their beginning, shared ones when their owner has contributed",
          "[nn]") {
  const std::string name =
      GENERATE("12-7-5-4:tanh", "zoo:inception_v3", "residual", "residual_gelu", "shared", "two_outputs", "half_added");
  CAPTURE(name);
  const Graph graph = paragrad::test::network(name);
  const auto device = backend::make_device("meta");
  const Model model(*device, graph, 1);
  std::size_t end = graph.parameter_count();
  for (std::size_t step = 0; step < model.step_count(); ++step) {
    const core::Range done = model.completed_by(step);
    if (done.empty()) continue;
    CHECK(done.end == end);
    end = done.begin;
  }
  CHECK(end == 0);
}

TEST_CASE("an activation function is fused into the operation before it where its slope follows from its output", "[nn]") {
  CHECK(make_graph("4-3-2:tanh").nodes().size() == 2);
  GraphBuilder twice({{4}});  // a value that is used before the function, too
  const ValueId z = twice.add("z", Affine(4), {input});
  const ValueId y = twice.add("y", Activate(backend::Activation::tanh), {z});
  const ValueId sum = twice.add("sum", Add(), {y, z});
  CHECK(std::move(twice).build(sum).nodes().size() == 3);
  GraphBuilder last({{4}});  // the loss knows no slopes
  const ValueId x = last.add("x", Affine(4), {input});
  CHECK(std::move(last).build(last.add("last", Activate(backend::Activation::tanh), {x})).nodes().size() == 2);
}

TEST_CASE("inputs that do not fit are refused in a sentence that names the node", "[nn]") {
  GraphBuilder graph({{8, 8, 3}});
  const ValueId wide = graph.add("wide", Affine(5), {input});
  const ValueId narrow = graph.add("narrow", Affine(4), {input});
  const ValueId image = graph.add("conv", Convolution(2, square(3, 2), true), {input});
  CHECK_THROWS_WITH(graph.add("sum", Add(), {wide, narrow}), "sum (add) takes inputs of one shape, not 5 and 4");
  CHECK_THROWS_WITH(graph.add("conv2", Convolution(2, square(3), true), {wide}),
                    "conv2 (convolution 3x3) takes height x width x channels, not 5");
  CHECK_THROWS_WITH(graph.add("conv3", Convolution(2, square(5, 1, Padding::valid), true), {image}),
                    "conv3 (convolution 5x5) has a window of 5 for an image of 4");
  CHECK_THROWS_WITH(graph.add("conv4", Convolution(4, square(3), true, 2), {input}),
                    "conv4 (convolution 3x3 in 2 groups) has 2 groups, which cannot share 3 channels and 4 outputs evenly");
  CHECK_THROWS_WITH(graph.add("conv5", Convolution(4, square(3, 0), true), {input}),
                    contains_text("has a window without extent, stride or dilation"));
  CHECK_THROWS_WITH(graph.add("conv6", Convolution(4, square(1, 1, Padding::of(1)), true), {input}),
                    contains_text("has a window of 1 and 1 zeros before the image"));
  CHECK_THROWS_WITH(graph.add("join", Concatenate(), {image, input}),
                    "join (concatenate) takes inputs that differ in their last extent only, not 4x4x2 and 8x8x3");
  CHECK_THROWS_WITH(graph.add_node("cut", std::make_shared<const SplitChannels>(std::vector<std::size_t>{2, 2}), {wide}),
                    "cut (split) cuts 5 into parts of 4 in all");
  CHECK_THROWS_WITH(graph.add("tied", Affine(6), {input}, graph.parameters_of(wide)),
                    "tied (affine) has 1152 'weights' and cannot share 960 'weights'");
  CHECK_THROWS_WITH(graph.add("drop", Dropout(1), {wide}),
                    "drop (dropout 1) drops with a probability from 0 to below 1, not 1");
  CHECK_THROWS_WITH(std::move(graph).build(wide), "narrow (affine) does not lead to the output");
  GraphBuilder tokens({{7}, DataType::int32});
  CHECK_THROWS_WITH(tokens.add("layer", Affine(2), {input}), "layer (affine) takes numbers, not tokens");
}

TEST_CASE("an operation that needs the whole minibatch is found by name", "[nn]") {
  REQUIRE(paragrad::test::network("batch_norm").needs_whole_minibatch() != nullptr);
  CHECK(paragrad::test::network("batch_norm").needs_whole_minibatch()->name == "norm");
  CHECK(make_graph("4-3-2").needs_whole_minibatch() == nullptr);
}
