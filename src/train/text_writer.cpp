#include "train/text_writer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/node_text.hpp"

namespace paragrad::train {
namespace {

const data::Vocabulary& vocabulary_of(const Checkpoint& checkpoint, const std::string& path) {
  if (checkpoint.data.vocabulary == nullptr)
    throw core::ConfigError(core::format("the model of checkpoint '{}', '{}', was not trained on a text", path,
                                         nn::short_name(checkpoint.model)));
  return *checkpoint.data.vocabulary;
}

std::shared_ptr<const nn::Graph> network_of(const Checkpoint& checkpoint, const std::string& path) {
  auto graph = std::make_shared<const nn::Graph>(nn::make_graph(checkpoint.model));
  const auto& tokens = graph->tokens();
  if (!tokens || tokens->vocabulary != checkpoint.data.vocabulary->size() ||
      graph->model_size() != checkpoint.parameters.size())
    throw core::ConfigError(
        core::format("checkpoint '{}' is damaged: its model, vocabulary and parameters do not fit", path));
  return graph;
}

}  // namespace

void WritingOptions::describe(core::OptionList& list) {
  list.number("tokens", tokens, {.least = 1, .most = 1'000'000'000}, "tokens to write");
  list.number("temperature", temperature, {.least = 0, .most = 100},
              "divides the outputs: below 1 probable tokens are drawn more often (0: always the most probable)");
  list.number("top-k", top_k, core::any_count, "draw among this many of the most probable tokens (0: all)")
      .when(temperature > 0, "has no effect with `temperature` 0, which takes the most probable: leave it out");
  list.number("seed", seed, core::any_seed, "random seed")
      .when(temperature > 0, "has no effect with `temperature` 0, which draws nothing: leave it out");
}

std::int32_t draw_token(std::span<const float> outputs, double temperature, std::size_t top_k, double uniform) {
  std::vector<std::int32_t> order(outputs.size());
  std::iota(order.begin(), order.end(), 0);
  const auto output = [&](std::int32_t token) { return outputs[static_cast<std::size_t>(token)]; };
  std::ranges::stable_sort(order, std::ranges::greater{}, output);
  if (temperature == 0) return order.front();
  if (top_k > 0) order.resize(std::min(top_k, order.size()));
  std::vector<double> weights;
  for (const std::int32_t token : order)
    weights.push_back(
        std::exp((static_cast<double>(output(token)) - static_cast<double>(output(order.front()))) / temperature));
  double left = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < order.size(); ++i)
    if ((left -= weights[i]) < 0) return order[i];
  return order.back();
}

TextWriter::TextWriter(backend::Device& device, const Checkpoint& checkpoint, const std::string& path)
    : device_(device),
      vocabulary_(&vocabulary_of(checkpoint, path)),
      graph_(network_of(checkpoint, path)),
      parameters_(device.allocate(graph_->parameter_count())),
      model_(device, graph_, graph_->tokens()->context),
      tokens_(device, graph_->tokens()->context),
      labels_(device, graph_->tokens()->context),
      rows_(device, graph_->tokens()->context) {
  const std::span<const float> all(checkpoint.parameters);
  device.transfer(all.first(graph_->parameter_count()), parameters_.span());
  if (!model_.buffers().empty()) device.transfer(all.subspan(graph_->parameter_count()), model_.buffers());
}

/// Of the last one.
std::vector<float> TextWriter::outputs_after(std::span<const std::int32_t> tokens) {
  const std::vector<std::uint32_t> active(tokens.size(), 1);
  device_.transfer(tokens, tokens_.span().first(tokens.size()));
  const data::Batch batch{.labels = labels_.span().first(tokens.size()),
                          .rows = rows_.span().first(tokens.size()),
                          .tokens = tokens_.span().first(tokens.size()),
                          .active = active};
  const std::span<const float> outputs = model_.forward(device_, parameters_.span(), batch, false);
  device_.finish();
  std::vector<float> last(graph_->outputs());
  device_.transfer(outputs.last(last.size()), std::span(last));
  return last;
}

void TextWriter::continue_text(const std::string& text, const WritingOptions& options,
                               const std::function<bool(const std::string&)>& wrote) {
  const core::RandomStream random(options.seed, core::Purpose::written_text);
  std::vector<std::int32_t> tokens = vocabulary_->encode(text, "the prompt");
  if (tokens.empty()) throw core::ConfigError("the prompt is empty: give it at least one token");
  if (!wrote(text)) return;
  for (std::size_t i = 0; i < options.tokens; ++i) {
    const std::size_t seen = std::min(tokens.size(), graph_->tokens()->context);
    const std::vector<float> outputs = outputs_after(std::span<const std::int32_t>(tokens).last(seen));
    if (!std::ranges::all_of(outputs, [](float value) { return std::isfinite(value); }))
      throw core::ConfigError("the model's outputs are not finite numbers: its training has diverged");
    tokens.push_back(draw_token(outputs, options.temperature, options.top_k, random.uniform(i)));
    if (!wrote(vocabulary_->text(tokens.back()))) return;
  }
}

}  // namespace paragrad::train
