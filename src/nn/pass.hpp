#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/kernel_queue.hpp"
#include "core/philox.hpp"
#include "nn/gradient_sink.hpp"
#include "nn/graph.hpp"

namespace paragrad::nn {

/// What the nodes of a pass over one minibatch have in common.
struct PassState {
  const Graph& graph;
  std::size_t rows = 0;
  std::size_t planned_rows = 0;  ///< that the memory was made for
  bool training = true;
  std::uint64_t seed = 1;
  std::uint32_t epoch = 0;
  std::span<const float> features{};        ///< the graph's input
  std::span<const std::int32_t> tokens{};   ///< or this
  std::span<const std::uint32_t> active{};  ///< number of sequences in each step (backend::Steps); empty: rows stand alone
  std::span<const std::uint32_t> row_numbers{};  ///< which key random numbers; device memory
  std::span<const float> parameters{};
  std::span<float> buffers{}, memory{}, fixed{};
  GradientSink sink{};
  const GradientReady* ready = nullptr;
};

/// A node's view of a pass. All spans are device memory; those of values are [rows][size].
class Pass {
 public:
  Pass(const PassState& state, NodeId node, bool backward, backend::KernelQueue* queue)
      : state_(state), id_(node), node_(state.graph.nodes()[node]), backward_(backward), queue_(queue) {}

  backend::KernelQueue& queue() const;  ///< none while data are exchanged
  std::size_t rows() const { return state_.rows; }
  std::span<const std::uint32_t> active() const { return state_.active; }
  bool training() const { return state_.training; }

  /// Random numbers of this node in this epoch, by row number and element.
  core::RandomStream random(core::Purpose purpose) const;
  std::span<const std::uint32_t> row_numbers() const { return state_.row_numbers; }
  std::uint64_t seed() const { return state_.seed; }
  std::uint32_t epoch() const { return state_.epoch; }

  // ---- values ----

  std::size_t input_count() const { return node_.inputs.size(); }
  const ValueType& input_type(std::size_t i) const { return value(node_.inputs[i]).type; }
  const ValueType& output_type(std::size_t i) const { return value(node_.outputs[i]).type; }
  std::span<const std::int32_t> tokens() const { return state_.tokens; }  ///< of an input of tokens
  std::span<const float> x(std::size_t i = 0) const;
  std::span<float> y(std::size_t i = 0) const;   ///< the backward pass may read it if Op::backward_reads_output
  std::span<float> dy(std::size_t i = 0) const;  ///< the backward pass may change it
  InputSink dx(std::size_t i = 0) const;

  // ---- parameters ----

  std::span<const float> parameters(std::size_t k) const { return range_of(k).of(state_.parameters); }
  GradientSink gradient(std::size_t k) const;

  /// The gradient of a range of array k has this node's contribution, and the parameters there are no longer needed.
  void ready(std::size_t k, core::Range range) const;
  void ready(std::size_t k) const { ready(k, {0, range_of(k).size()}); }

  // ---- memory ----

  std::span<float> memory(std::string_view name) const;
  std::span<float> buffers() const { return node_.buffers.of(state_.buffers); }  ///< of the node, one after the other

 private:
  const Value& value(ValueId id) const { return state_.graph.values()[id]; }
  core::Range range_of(std::size_t k) const { return state_.graph.parameters()[node_.parameters[k]].range; }
  bool is_owner(std::size_t k) const { return state_.graph.parameters()[node_.parameters[k]].owner == id_; }
  std::span<float> planned(std::size_t offset, std::size_t size) const {
    return state_.memory.subspan(offset * state_.planned_rows, size * state_.rows);
  }

  const PassState& state_;
  NodeId id_;
  const Node& node_;
  bool backward_;
  backend::KernelQueue* queue_;
};

}  // namespace paragrad::nn
