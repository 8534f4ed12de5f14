#include <cmath>

#include "core/errors.hpp"
#include "nn/ops/activate.hpp"
#include "nn/ops/add.hpp"
#include "nn/ops/affine.hpp"
#include "nn/ops/attention.hpp"
#include "nn/ops/dropout.hpp"
#include "nn/ops/embedding.hpp"
#include "nn/ops/head.hpp"
#include "nn/ops/multiply.hpp"
#include "nn/ops/positions.hpp"
#include "nn/ops/rotary.hpp"
#include "nn/ops/row_norm.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

struct GptOptions {
  std::size_t layers = 4, heads = 4, width = 128, context = 64, vocabulary = 256;
  std::string norm = "layer", mlp = "gelu", positions = "learned";
  bool bias = true, tied = true;
  double dropout = 0;

  void describe(core::OptionList& list) {
    list.number("layers", layers, {.least = 1, .most = 1000}, "blocks of attention and perceptron");
    list.number("heads", heads, {.least = 1, .most = 1000}, "heads of attention, which divide the width");
    list.number("width", width, {.least = 2, .most = 100'000}, "numbers per token");
    list.number("context", context, {.least = 1, .most = 100'000}, "tokens of a window");
    list.number("vocabulary", vocabulary, {.least = 2, .most = 1'000'000}, "number of tokens; in training the data's");
    list.choice("norm", norm, {"layer", "rms"}, "normalisation");
    list.choice("mlp", mlp, {"gelu", "swiglu"}, "perceptron: four times as wide, or gated and 8/3 times as wide");
    list.choice("positions", positions, {"learned", "rotary"}, "vectors that are added, or angles of queries and keys");
    list.flag("bias", bias, "biases of products and shifts of normalisation");
    list.flag("tied", tied, "the output has the weights of the embedding");
    list.number("dropout", dropout, core::below_one, "probability of zero after the embedding and before each addition");
  }
};

/// GPT-2 (Radford et al. 2019): normalisation before attention and perceptron, initial weights with a deviation of 0.02, and
/// that divided by sqrt(2·layers) for the products that are added to the residual stream.
class GptBuilder {
 public:
  explicit GptBuilder(const GptOptions& options)
      : options_(options), graph_(GraphBuilder::of_text({options.vocabulary, options.context})) {}

  Graph build() && {
    const ValueId table = graph_.add("embedding", Embedding(options_.width, deviation), {GraphBuilder::input});
    const std::vector<std::optional<ParameterId>> weights = graph_.parameters_of(table);
    ValueId x = table;
    if (!rotary()) x = graph_.add("positions", Positions(options_.context, deviation), {x});
    x = dropped("embedding", x);
    for (std::size_t l = 0; l < options_.layers; ++l) {
      const std::string layer = core::format("layer {}", l + 1);
      graph_.begin_block();
      x = attended(layer, x);
      x = graph_.add(layer + "/sum", Add(), {x, perceptron(layer, normalised(layer + "/norm 2", x))});
    }
    graph_.end_blocks();
    const ValueId last = normalised("norm", x);
    const Head head(options_.vocabulary, deviation);
    return std::move(graph_).build(options_.tied ? graph_.add("head", head, {last}, weights)
                                                 : graph_.add("head", head, {last}));
  }

 private:
  static constexpr double deviation = 0.02;

  bool rotary() const { return options_.positions == "rotary"; }

  ValueId attended(const std::string& layer, ValueId x) {
    ValueId inputs = product(layer + "/queries, keys, values", normalised(layer + "/norm 1", x), 3 * options_.width);
    if (rotary()) inputs = graph_.add(layer + "/rotary", Rotary(options_.heads, 10000), {inputs});
    const ValueId found = graph_.add(layer + "/attention", Attention(options_.heads), {inputs});
    return graph_.add(layer + "/attended", Add(), {x, into_residual(layer + "/projection", found)});
  }

  ValueId perceptron(const std::string& layer, ValueId x) {
    if (options_.mlp == "gelu") {
      const ValueId wide = product(layer + "/wide", x, 4 * options_.width);
      return into_residual(layer + "/narrow", graph_.add(layer + "/gelu", Activate(backend::Activation::gelu), {wide}));
    }
    const std::size_t width = 8 * options_.width / 3;
    const ValueId gate =
        graph_.add(layer + "/silu", Activate(backend::Activation::silu), {product(layer + "/gate", x, width)});
    return into_residual(layer + "/narrow",
                         graph_.add(layer + "/gated", Multiply(), {gate, product(layer + "/wide", x, width)}));
  }

  ValueId normalised(const std::string& name, ValueId x) {
    const bool centred = options_.norm == "layer";
    return graph_.add(name, RowNorm({.centred = centred, .shift = centred && options_.bias}), {x});
  }

  ValueId product(const std::string& name, ValueId x, std::size_t outputs, double spread = deviation) {
    return graph_.add(name, Affine(outputs, {}, {}, {.bias = options_.bias, .deviation = spread}), {x});
  }

  ValueId into_residual(const std::string& name, ValueId x) {
    const double spread = deviation / std::sqrt(2 * static_cast<double>(options_.layers));
    return dropped(name, product(name, x, options_.width, spread));
  }

  ValueId dropped(const std::string& name, ValueId x) {
    return options_.dropout > 0 ? graph_.add(name + "/dropout", Dropout(options_.dropout), {x}) : x;
  }

  const GptOptions& options_;
  GraphBuilder graph_;
};

Graph make_gpt(const GptOptions& options) {
  if (options.width % options.heads != 0)
    throw core::ConfigError(
        core::format("zoo model 'gpt': {} heads cannot share a width of {}: give a width that is a "
                     "multiple of the heads",
                     options.heads, options.width));
  if (options.positions == "rotary" && options.width / options.heads % 2 != 0)
    throw core::ConfigError(
        core::format("zoo model 'gpt': rotary positions turn pairs of numbers, and {} heads of a width of {} have "
                     "an odd number each: give another width",
                     options.heads, options.width));
  return GptBuilder(options).build();
}

}  // namespace

ZooEntry gpt_entry() {
  ZooEntry entry = network(
      {.name = "gpt",
       .summary = "transformer that predicts the next token of a text, also written gpt:…; gpt:nano and gpt:baby are "
                  "nanoGPT's for a CPU and for characters, gpt:124m is GPT-2",
       .source = "Radford et al., Language models are unsupervised multitask learners, 2019; Karpathy, nanoGPT"},
      make_gpt);
  const auto preset = [](const char* layers, const char* heads, const char* width, const char* context) {
    return core::Settings{{"layers", layers}, {"heads", heads}, {"width", width}, {"context", context}};
  };
  entry.presets["nano"] = preset("4", "4", "128", "64");
  entry.presets["baby"] = preset("6", "6", "384", "256");
  for (const char* name : {"nano", "baby"}) entry.presets[name]["bias"] = "false";
  entry.presets["124m"] = preset("12", "12", "768", "1024");
  entry.presets["124m"]["vocabulary"] = "50257";
  return entry;
}

}  // namespace paragrad::nn::zoo
