#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backend/device.hpp"
#include "core/arena.hpp"
#include "data/batch.hpp"
#include "nn/gradient_sink.hpp"
#include "nn/graph.hpp"
#include "nn/loss.hpp"
#include "nn/pass.hpp"
#include "nn/replica_peers.hpp"

namespace paragrad::nn {

/// Executes a graph for one replica. Owns the memory of its values and its buffers, but no parameters: these are one span
/// [parameter_count()], laid out by the graph, and gradients have the same layout.
class Model {
 public:
  /// max_rows: the largest minibatch. peers: the workers that hold the other parts of the graph, if it is one.
  Model(backend::Device& device, std::shared_ptr<const Graph> graph, std::size_t max_rows, ReplicaPeers* peers = nullptr);
  Model(backend::Device& device, Graph graph, std::size_t max_rows)
      : Model(device, std::make_shared<const Graph>(std::move(graph)), max_rows) {}

  const Graph& graph() const { return *graph_; }
  std::size_t parameter_count() const { return graph_->parameter_count(); }
  std::size_t max_rows() const { return max_rows_; }

  /// Keys of the random numbers of later passes.
  void draw(std::uint64_t seed, std::uint32_t epoch);

  /// State that is neither parameter nor activation; device memory [graph().buffer_count()], zeros at first.
  std::span<float> buffers() { return buffers_.span(); }

  // Kernels go to `queue`: the device, or a queue that only counts. If there are peers, these run them instead.

  /// Computes the outputs of a minibatch of at most max_rows rows, [rows][outputs], before any softmax; valid until loss()
  /// or the next pass. backward() reads the batch's features again.
  std::span<const float> forward(backend::KernelQueue& queue, std::span<const float> parameters, const data::Batch& batch,
                                 bool training = true);

  /// Adds the loss of the current outputs to *into (device memory) and computes its gradient with respect to the outputs,
  /// which it may overwrite.
  void loss(backend::KernelQueue& queue, const Loss& loss, const data::Batch& batch, backend::LossSum* into);

  /// Gradient of the summed (not averaged) loss of the minibatch with respect to all parameters. `sink` and `ready` may
  /// change the parameters of a finished range.
  void backward(backend::KernelQueue& queue, std::span<const float> parameters, const data::Batch& batch, GradientSink sink,
                const GradientReady& ready);

  /// Some of its steps; all are to be called once, in order.
  void backward_steps(backend::KernelQueue& queue, core::Range steps, std::span<const float> parameters,
                      const data::Batch& batch, GradientSink sink, const GradientReady& ready);
  std::size_t step_count() const { return graph_->plan().backward.size(); }

  /// The part of the parameters whose gradient a step completes.
  core::Range completed_by(std::size_t step) const;

 private:
  PassState state(std::span<const float> parameters, const data::Batch& batch, bool training);
  std::span<float> gradient_of_output(std::size_t rows);
  std::span<float> output(std::size_t rows);

  std::shared_ptr<const Graph> graph_;
  ReplicaPeers* peers_;
  std::size_t max_rows_;
  std::size_t planned_rows_;
  core::Arena memory_, fixed_, buffers_;
  std::uint64_t seed_ = 1;
  std::uint32_t epoch_ = 0;
};

/// Makes the graph of a model from its name. Multilayer perceptron: widths joined by '-', n layers of width w as nxw, hidden
/// activation function after a colon (backend/activations.def; default sigmoid): "784-512-256-10:sigmoid",
/// "440-5x1024-1000:relu". The output layer is affine. LSTM layers are written between the widths: lstm256 or,
/// bidirectional, blstm256 (256 cells per direction), projected to 128 outputs as lstm256p128, with peepholes as
/// lstm256+peepholes: "40-5xblstm256-1000". Their samples are frames of sequences. Published networks: "zoo:resnet50"
/// (zoo/zoo.hpp). Throws ConfigError quoting the part that it cannot parse.
Graph make_graph(const std::string& model);

}  // namespace paragrad::nn
