#pragma once

#include <string>

#include "core/errors.hpp"
#include "nn/model.hpp"
#include "nn/ops/activate.hpp"
#include "nn/ops/add.hpp"
#include "nn/ops/affine.hpp"
#include "nn/ops/attention.hpp"
#include "nn/ops/batch_norm.hpp"
#include "nn/ops/concatenate.hpp"
#include "nn/ops/convolution.hpp"
#include "nn/ops/dropout.hpp"
#include "nn/ops/embedding.hpp"
#include "nn/ops/group_norm.hpp"
#include "nn/ops/head.hpp"
#include "nn/ops/lrn.hpp"
#include "nn/ops/multiply.hpp"
#include "nn/ops/pool.hpp"
#include "nn/ops/positions.hpp"
#include "nn/ops/row_norm.hpp"
#include "nn/ops/split_channels.hpp"

namespace paragrad::test {

/// Every operation on images: 2 rows of `inputs`/2 pixels, with functions that have slopes everywhere, and a normalisation
/// of little curvature.
inline nn::Graph image_network(std::size_t inputs, std::size_t classes) {
  using backend::Activation;
  nn::GraphBuilder graph({{2, inputs / 2, 1}});
  const auto convolution = [&](const char* name, nn::ValueId from, std::size_t channels, const nn::Window& window, bool bias,
                               std::size_t groups) {
    const nn::ValueId z = graph.add(name, nn::Convolution(channels, window, bias, groups, Activation::tanh), {from});
    return graph.add(std::string(name) + "/tanh", nn::Activate(Activation::tanh), {z});
  };
  const nn::ValueId x = convolution("first", nn::GraphBuilder::input, 4, nn::square(3), true, 1);
  const nn::ValueId a = convolution("a", x, 6, nn::square(3, 2, nn::Padding::of(1)), true, 2);
  const nn::ValueId b = graph.add("b", nn::Pool(nn::Pool::Kind::maximum, nn::square(2, 2)), {x});
  const nn::ValueId c = graph.add("c", nn::Pool(nn::Pool::Kind::mean, nn::square(3, 2)), {x});
  const nn::ValueId joined = graph.add("joined", nn::Concatenate(), {a, b, c, b});
  const nn::ValueId d = graph.add("d", nn::Convolution(5, {1, 2, 1, nn::Padding::same, 2}, false), {joined});
  const nn::ValueId y = graph.add("norm", nn::BatchNorm(Activation::identity, 0.1f, 1), {d});
  return std::move(graph).build(graph.add("last", nn::Affine(classes), {y}));
}

/// Normalisations of each sample, of an image of 2 rows; functions and curvature as above.
inline nn::Graph normalising_network(std::size_t inputs, std::size_t classes) {
  using backend::Activation;
  nn::GraphBuilder graph({{2, inputs / 2, 1}});
  const nn::ValueId x = graph.add("first", nn::Convolution(6, nn::square(3), true), {nn::GraphBuilder::input});
  const nn::ValueId a = graph.add("groups", nn::GroupNorm(3, Activation::identity, 1), {x});
  const nn::ValueId b = graph.add("groups/tanh", nn::Activate(Activation::tanh), {a});
  const nn::ValueId c = graph.add("neighbours", nn::Lrn({.size = 4, .alpha = 0.9f, .beta = 0.6f}), {b});
  const nn::ValueId sum =
      graph.add("sum", nn::Add(), {c, graph.add("whole", nn::GroupNorm(1, Activation::identity, 1), {b})});
  return std::move(graph).build(graph.add("last", nn::Affine(classes), {sum}));
}

/// A transformer with every operation on texts, of `classes` tokens; with weights that make a difference.
inline nn::Graph text_network(bool rms, std::size_t classes) {
  using backend::Activation;
  nn::GraphBuilder graph = nn::GraphBuilder::of_text({classes, 4});
  const nn::ValueId e = graph.add("table", nn::Embedding(6, 0.5), {nn::GraphBuilder::input});
  const nn::ValueId x = graph.add("positions", nn::Positions(5, 0.5), {e});
  const nn::ValueId a = graph.add("norm", nn::RowNorm({.centred = !rms, .shift = !rms, .epsilon = 0.1}), {x});
  const nn::ValueId qkv = graph.add("qkv", nn::Affine(18, {}, {}, {.bias = rms, .deviation = 0.5}), {a});
  const nn::ValueId sum = graph.add("sum", nn::Add(), {x, graph.add("attention", nn::Attention(2), {qkv})});
  const nn::ValueId gate = graph.add("silu", nn::Activate(Activation::silu), {graph.add("gate", nn::Affine(6), {sum})});
  const nn::ValueId gated = graph.add("gated", nn::Multiply(), {gate, sum});
  return std::move(graph).build(graph.add("head", nn::Head(classes, 0.5), {gated}, graph.parameters_of(e)));
}

/// Small networks from 6 or, to fit test data, `inputs` features to `classes` outputs that the notation cannot describe. Any
/// other name is read as the notation.
inline nn::Graph network(const std::string& name, std::size_t inputs = 6, std::size_t classes = 4) {
  using backend::Activation;
  if (name == "images") return image_network(inputs, classes);
  if (name == "normalising") return normalising_network(inputs, classes);
  if (name.starts_with("text")) return text_network(name == "text_rms", classes);
  nn::GraphBuilder graph({{inputs}});
  const nn::ValueId x = graph.add("first", nn::Affine(8, Activation::tanh), {nn::GraphBuilder::input});
  const nn::ValueId h = graph.add("first/tanh", nn::Activate(Activation::tanh), {x});
  nn::ValueId y = h;
  if (name == "residual") {  // h + g(h), twice: the sum is used by the next block's layer and by its shortcut
    for (const char* block : {"a", "b"}) {
      const nn::ValueId z = graph.add(block, nn::Affine(8, Activation::sigmoid), {y});
      const nn::ValueId g = graph.add(std::string(block) + "/sigmoid", nn::Activate(Activation::sigmoid), {z});
      const nn::ValueId sum = graph.add(std::string(block) + "/sum", nn::Add(), {g, y});
      y = graph.add(std::string(block) + "/tanh", nn::Activate(Activation::tanh), {sum});
    }
  } else if (name == "residual_gelu") {  // h + W2·gelu(W1·h)
    const nn::ValueId z = graph.add("a", nn::Affine(12, Activation::gelu), {y});
    const nn::ValueId g = graph.add("a/gelu", nn::Activate(Activation::gelu), {z});
    y = graph.add("sum", nn::Add(), {graph.add("b", nn::Affine(8), {g}), y});
  } else if (name == "shared") {  // one layer's weights three times, the last time with a bias of its own
    const nn::ValueId once = graph.add("a", nn::Affine(8, Activation::tanh), {y});
    const nn::ValueId f = graph.add("a/tanh", nn::Activate(Activation::tanh), {once});
    const nn::ValueId again = graph.add("b", nn::Affine(8, Activation::tanh), {f}, graph.parameters_of(once));
    const nn::ValueId f2 = graph.add("b/tanh", nn::Activate(Activation::tanh), {again});
    const auto weights = graph.parameters_of(once);
    y = graph.add("c", nn::Affine(8), {f2}, std::span(weights).first(1));
  } else if (name == "two_outputs") {  // the halves of h, multiplied by different weights, and one of them used twice
    const std::vector<nn::ValueId> halves =
        graph.add_node("halves", std::make_shared<const nn::SplitChannels>(std::vector<std::size_t>{4, 4}), {h});
    const nn::ValueId a = graph.add("a", nn::Affine(5), {halves[0]}), b = graph.add("b", nn::Affine(5), {halves[1]});
    const nn::ValueId c = graph.add("c", nn::Affine(5), {h}), d = graph.add("d", nn::Affine(5), {halves[0]});
    y = graph.add("sum", nn::Add(), {graph.add("a+b", nn::Add(), {a, b}), graph.add("c+d", nn::Add(), {c, d})});
  } else if (name == "half_added") {  // a half of h used by layers, and by a sum
    const std::vector<nn::ValueId> halves =
        graph.add_node("halves", std::make_shared<const nn::SplitChannels>(std::vector<std::size_t>{4, 4}), {h});
    const nn::ValueId a = graph.add("a", nn::Affine(4), {halves[1]});
    const nn::ValueId sum = graph.add("sum", nn::Add(), {a, halves[0]});
    y = graph.add("sums", nn::Add(), {sum, graph.add("b", nn::Affine(4), {halves[0]})});
  } else if (name == "dropout") {
    y = graph.add("drop", nn::Dropout(0.4), {h});
  } else if (name == "batch_norm") {
    const nn::ValueId z = graph.add("second", nn::Affine(7), {h});
    const nn::ValueId normal = graph.add("norm", nn::BatchNorm(), {z});
    y = graph.add("norm/sigmoid", nn::Activate(Activation::sigmoid), {normal});
  } else {
    return nn::make_graph(name);
  }
  return std::move(graph).build(graph.add("last", nn::Affine(classes), {y}));
}

/// Whether tensor parallelism can split it: networks with convolutions cannot be split.
inline bool can_be_split(const std::string& name) { return name != "images" && name != "normalising"; }

}  // namespace paragrad::test
