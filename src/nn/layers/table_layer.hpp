#pragma once

#include <array>
#include <string>

#include "nn/layer.hpp"

namespace paragrad::nn {

/// The cost of one layer per sample.
struct TableRow {
  std::string name;
  std::vector<core::MatrixShape> matrices;  ///< its parameters

  /// Its matrix product, in multiplications per sample: for a convolution positions × (channels · kernel) × channels. Zeros:
  /// no product.
  std::size_t positions = 0;
  std::size_t inner = 0;
  std::size_t columns = 0;

  std::size_t reads = 0;              ///< activations read
  std::size_t outputs = 0;            ///< activations written
  std::size_t forward_accesses = 0;   ///< activations read or written around the product: bias, activation function, pooling
  std::size_t backward_accesses = 0;  ///< the same in the backward pass
};

/// A layer described only by its costs: it counts work on a device that does not compute, and cannot be trained.
///
/// A network with branches is a chain of such layers in execution order; inputs() is then the output size of the previous
/// layer, which need not be what this layer reads.
class TableLayer : public Layer {
 public:
  TableLayer(TableRow row, std::size_t inputs);

  std::size_t inputs() const override { return inputs_; }
  std::size_t outputs() const override { return row_.outputs; }
  std::size_t parameter_count() const override { return parameters_; }
  std::vector<core::MatrixShape> matrices() const override { return row_.matrices; }
  bool computable() const override { return false; }
  backend::Activation activation() const override { return backend::Activation::identity; }

  void initialise(const core::RandomStream& random, std::span<float> parameters) const override;
  void forward(const Pass& pass) const override;
  void backward_input(const Pass& pass, std::span<const float> delta, backend::Activation f,
                      std::span<float> delta_below) const override;
  void backward_parameters(const Pass& pass, std::span<const float> delta, GradientSink sink,
                           const GradientReady& ready) const override;

 private:
  void product(backend::KernelQueue& queue, backend::KernelId kernel, std::size_t batch) const;
  void stream(backend::KernelQueue& queue, backend::KernelId kernel, std::size_t accesses) const;

  TableRow row_;
  std::size_t inputs_;
  std::size_t parameters_ = 0;
};

}  // namespace paragrad::nn
