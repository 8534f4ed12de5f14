#include "nn/tensor_parallel.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/ops/gather.hpp"

namespace paragrad::nn {
namespace {

OpPart part_of(const Graph& graph, const Node& node, std::size_t workers, std::size_t index) {
  const std::string name = core::format("{} ({})", node.name, node.op->name());
  try {
    if (auto part = node.op->part(graph.types_of(node.inputs), workers, index)) return std::move(*part);
  } catch (const core::ConfigError& error) {
    throw core::ConfigError(core::format("{} {}", name, error.what()));
  }
  throw core::ConfigError(core::format("{} cannot be split: train it without `tensor-parallel`", name));
}

/// Copies a graph in parts. Values exist as this worker's part, as the whole, or both.
class Cutter {
 public:
  Cutter(const Graph& graph, std::size_t workers, std::size_t index)
      : graph_(graph), workers_(workers), index_(index), own_(graph.values().front().type, graph.tokens()) {
    whole_[GraphBuilder::input] = GraphBuilder::input;
  }

  Graph cut() && {
    for (const Node& node : graph_.nodes()) add(node);
    if (summed_.contains(graph_.output())) return std::move(own_).build(whole_.at(graph_.output()));
    if (!part_.contains(graph_.output()))
      throw core::ConfigError("a network whose outputs are not split cannot be trained with `tensor-parallel`");
    const ValueId output = add_gather(graph_.output(), true);
    return std::move(own_).build(output);
  }

 private:
  void add(const Node& node) {
    const OpPart part = part_of(graph_, node, workers_, index_);
    std::vector<ValueId> inputs;
    const bool from_parts = part.kind == OpPart::Kind::elementwise || part.kind == OpPart::Kind::addend;
    for (const ValueId value : node.inputs) inputs.push_back(from_parts ? part_of_value(value) : whole_of_value(value));
    std::vector<std::optional<ParameterId>> shared;
    for (const ParameterId parameter : node.parameters) {
      const auto known = parameters_.find(parameter);
      shared.push_back(known == parameters_.end() ? std::nullopt : std::optional(known->second));
    }
    const std::vector<ValueId> outputs = own_.add_node(node.name, part.op, std::move(inputs), shared);
    own_.draw_like(graph_, node);
    for (std::size_t i = 0; i < outputs.size(); ++i) keep(part.kind, node.outputs[i], outputs[i]);
    const std::vector<std::optional<ParameterId>> now = own_.parameters_of(outputs.front());
    for (std::size_t k = 0; k < now.size(); ++k) parameters_[node.parameters[k]] = *now[k];
  }

  /// own: what this worker has computed of the value.
  void keep(OpPart::Kind kind, ValueId value, ValueId own) {
    if (kind == OpPart::Kind::addend) {
      const Value& whole = graph_.values()[value];
      whole_[value] = own_.add(whole.name + "/sum", SumOfParts(workers_, value == graph_.output()), {own});
      summed_.insert(value);
    } else {
      (kind == OpPart::Kind::replicated ? whole_ : part_)[value] = own;
    }
  }

  ValueId add_gather(ValueId value, bool of_network) {
    const Value& whole = graph_.values()[value];
    return own_.add(whole.name + "/gather", Gather(whole.type, workers_, index_, of_network), {part_.at(value)});
  }

  ValueId whole_of_value(ValueId value) {
    if (!whole_.contains(value)) whole_[value] = add_gather(value, false);
    return whole_.at(value);
  }

  ValueId part_of_value(ValueId value) {
    if (!part_.contains(value))
      part_[value] = own_.add(graph_.values()[value].name + "/part", TakePart(workers_, index_), {whole_.at(value)});
    return part_.at(value);
  }

  const Graph& graph_;
  std::size_t workers_, index_;
  GraphBuilder own_;
  std::map<ValueId, ValueId> whole_, part_;
  std::set<ValueId> summed_;
  std::map<ParameterId, ParameterId> parameters_;
};

}  // namespace

TensorParallel::TensorParallel(std::shared_ptr<const Graph> whole, std::size_t workers, std::size_t index)
    : whole_(std::move(whole)),
      own_(std::make_shared<const Graph>(Cutter(*whole_, workers, index).cut())),
      index_(index),
      rows_(workers) {
  for (std::size_t worker = 0; worker < workers; ++worker)
    for (NodeId n = 0; n < whole_->nodes().size(); ++n) {
      const OpPart part = part_of(*whole_, whole_->nodes()[n], workers, worker);
      for (std::size_t k = 0; k < part.rows.size(); ++k)
        if (whole_->parameters()[whole_->nodes()[n].parameters[k]].owner == n)
          rows_[worker].insert(rows_[worker].end(), part.rows[k].begin(), part.rows[k].end());
    }
}

/// Calls piece(offset in the whole, offset in the part, length) for each column of each matrix, and for each buffer.
template <class Piece>
void TensorParallel::for_each_piece(std::size_t worker, Piece piece) const {
  std::size_t in_part = 0;
  for (std::size_t m = 0; m < rows_[worker].size(); ++m) {
    const core::Matrix& matrix = whole_->layout()[m];
    const core::Range rows = rows_[worker][m];
    for (std::size_t column = 0; column < matrix.shape.columns; ++column, in_part += rows.size())
      piece(matrix.begin + column * matrix.shape.rows + rows.begin, in_part, rows.size());
  }
  for (const Buffer& buffer : whole_->buffers()) {
    const core::Range own = core::part_of(buffer.range.size(), workers(), worker);
    piece(whole_->parameter_count() + buffer.range.begin + own.begin, in_part, own.size());
    in_part += own.size();
  }
}

std::size_t TensorParallel::model_size(std::size_t worker) const {
  std::size_t count = 0;
  for_each_piece(worker, [&](std::size_t, std::size_t, std::size_t length) { count += length; });
  return count;
}

void TensorParallel::cut(std::size_t worker, std::span<const float> from_whole, std::span<float> to_part) const {
  for_each_piece(worker, [&](std::size_t in_whole, std::size_t in_part, std::size_t length) {
    std::ranges::copy(from_whole.subspan(in_whole, length), to_part.subspan(in_part, length).begin());
  });
}

void TensorParallel::join(std::size_t worker, std::span<const float> from_part, std::span<float> to_whole) const {
  for_each_piece(worker, [&](std::size_t in_whole, std::size_t in_part, std::size_t length) {
    std::ranges::copy(from_part.subspan(in_part, length), to_whole.subspan(in_whole, length).begin());
  });
}

}  // namespace paragrad::nn
