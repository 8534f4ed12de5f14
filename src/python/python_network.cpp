#include <array>

#include "nn/ops/checks.hpp"
#include "nn/pass.hpp"
#include "nn/zoo/zoo.hpp"
#include "python/python_model.hpp"

namespace paragrad::nn::zoo {
namespace {

using python::PythonModel;

/// A layer of a model in Python: it owns its arrays and their gradients, and counts the layer's work. The last one computes
/// the whole model, in one call for each direction; it contributes first to the gradients of all.
class PythonLayer : public Op {
 public:
  PythonLayer(std::shared_ptr<PythonModel> model, std::size_t index)
      : model_(std::move(model)), layer_(model_->layers()[index]), is_last_(index + 1 == model_->layers().size()) {}

  std::string name() const override { return "python"; }
  std::vector<ValueType> infer(Types) const override { return {{{is_last_ ? model_->outputs() : 1}}}; }
  std::vector<ParameterSpec> parameters(Types) const override;
  std::vector<BufferSpec> buffers(Types) const override { return is_last_ ? model_->buffers() : std::vector<BufferSpec>(); }
  std::optional<std::size_t> longest_window() const override {
    return model_->tokens() ? std::optional(model_->tokens()->context) : std::nullopt;
  }
  bool needs_whole_minibatch() const override { return is_last_ && !model_->buffers().empty(); }
  bool is_table() const override { return layer_.is_table; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override {
    count(pass, [] {});
  }
  void backward_parameters(const Pass& pass) const override;

 private:
  core::Range arrays() const { return is_last_ ? core::Range{0, model_->arrays().size()} : layer_.arrays; }
  PythonModel::Memory memory_of(const Pass& pass) const;
  void count(const Pass& pass, const std::function<void()>& function) const;

  std::shared_ptr<PythonModel> model_;
  PythonModel::Layer layer_;
  bool is_last_;
};

std::vector<ParameterSpec> PythonLayer::parameters(Types) const {
  std::vector<ParameterSpec> specs;
  for (std::size_t k = arrays().begin; k < arrays().end; ++k)
    specs.push_back({model_->arrays()[k].name,
                     {model_->arrays()[k].shape},
                     [model = model_, k](const core::RandomStream&, std::span<float> values) {
                       std::ranges::copy(model->arrays()[k].initial, values.begin());
                     }});
  return specs;
}

/// As a product that takes as many operations, and has as many outputs as its largest array has rows.
void PythonLayer::count(const Pass& pass, const std::function<void()>& function) const {
  std::uint64_t weights = 0;
  core::MatrixShape largest{1, 1};
  for (const PythonModel::Array& array : layer_.arrays.of(model_->arrays())) {
    weights += array.shape.size();
    if (array.shape.size() > largest.size()) largest = array.shape;
  }
  const std::uint64_t outputs = std::max<std::uint64_t>(largest.rows, 1);
  const std::uint64_t inner = std::max<std::uint64_t>(layer_.flops / (2 * outputs), 1);
  pass.queue().run(backend::HostCall{.kernel = backend::KernelId::gemm,
                                     .size = {pass.rows(), inner, outputs},
                                     .flops = layer_.flops * pass.rows(),
                                     .bytes = sizeof(float) * (pass.rows() * (std::min(inner, weights) + outputs) + weights),
                                     .function = function});
}

PythonModel::Memory PythonLayer::memory_of(const Pass& pass) const {
  PythonModel::Memory memory{.parameters = {}, .buffers = pass.buffers()};
  for (std::size_t k = 0; k < model_->arrays().size(); ++k) {
    const std::span<const float> values = pass.parameters(k);
    memory.parameters.emplace_back(const_cast<float*>(values.data()), values.size());
  }
  return memory;
}

// A queue may keep the functions for later: what they use is copied.

void PythonLayer::forward(const Pass& pass) const {
  if (!is_last_ || !pass.queue().computes()) return count(pass, [] {});
  std::optional<std::uint64_t> seed;
  if (pass.training()) {
    const auto words = pass.random(core::Purpose::foreign_model).words(pass.row_numbers().front());
    seed = (std::uint64_t{words[0]} << 31) ^ words[1];
  }
  const std::span<const float> features = model_->tokens() ? std::span<const float>() : pass.x(pass.input_count() - 1);
  count(pass, [=, model = model_, memory = memory_of(pass), rows = pass.rows(), tokens = pass.tokens(), y = pass.y()] {
    model->forward(memory, rows, features, tokens, seed, y);
  });
}

void PythonLayer::backward_parameters(const Pass& pass) const {
  if (is_last_ && pass.queue().computes()) {
    std::vector<PythonModel::Gradient> gradients;
    for (std::size_t k = 0; k < model_->arrays().size(); ++k) {
      const GradientSink sink = pass.gradient(k);
      gradients.push_back({sink.into, sink.keep});
    }
    count(pass,
          [model = model_, memory = memory_of(pass), dy = pass.dy(), gradients] { model->backward(memory, dy, gradients); });
  } else {
    count(pass, [] {});
  }
  for (std::size_t k = arrays().size(); k-- > 0;) {
    descend(pass.queue(), pass.gradient(k));
    pass.ready(k);
  }
}

/// What identifies the model; the call from Python has it.
struct PythonNetworkOptions {
  std::string name, sha256, initial;

  void describe(core::OptionList& list) {
    list.text("name", name, "class of the model");
    list.text("sha256", sha256, "hash of its code, its constants and the shapes of its arrays");
    list.text("initial", initial, "hash of its initial weights");
  }
};

Graph make_python(const PythonNetworkOptions& options) {
  const std::shared_ptr<PythonModel> model = python::ModelOfCall::current();
  if (model == nullptr)
    throw core::ConfigError(core::format(
        "a model in Python{} can be used from Python only: give the model itself, as in paragrad.train(model=MODEL) or "
        "paragrad.predict(run, x, network=MODEL)",
        options.name.empty() ? "" : core::format(", here '{}',", options.name)));
  if (model->sha256() != options.sha256)
    throw core::ConfigError(
        core::format("this is not the model '{}' of the run: its code, its constants or the shapes of its "
                     "arrays differ",
                     options.name));
  GraphBuilder net = model->tokens() ? GraphBuilder::of_text(*model->tokens()) : GraphBuilder({{model->inputs()}});
  std::vector<std::optional<ParameterId>> owned;
  std::vector<ValueId> inputs{GraphBuilder::input};
  for (std::size_t i = 0; i + 1 < model->layers().size(); ++i) {
    const ValueId layer = net.add(model->layers()[i].name, PythonLayer(model, i), inputs);
    for (const auto& parameter : net.parameters_of(layer)) owned.push_back(parameter);
    inputs = {layer};
  }
  if (inputs.front() != GraphBuilder::input) inputs.push_back(GraphBuilder::input);
  return std::move(net).build(
      net.add(model->layers().back().name, PythonLayer(model, model->layers().size() - 1), inputs, owned));
}

}  // namespace

ZooEntry python_network_entry() {
  return network({.name = "python", .summary = "the model in Python that is given with the call"}, make_python);
}

}  // namespace paragrad::nn::zoo
