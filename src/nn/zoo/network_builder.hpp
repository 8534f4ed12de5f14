#pragma once

#include <string>
#include <vector>

#include "nn/graph.hpp"
#include "nn/ops/image_window.hpp"

namespace paragrad::nn::zoo {

/// Builds networks of convolutions; each function adds its nodes and returns their output.
class NetworkBuilder {
 public:
  /// After a convolution: a bias per channel, or batch normalisation (a node of its own, and no bias).
  enum class Normalise { bias, batch };

  NetworkBuilder(Shape input, Normalise normalise) : graph_({std::move(input)}), normalise_(normalise) {}

  static constexpr ValueId input = GraphBuilder::input;

  /// With bias or batch normalisation, and a ReLU.
  ValueId convolution(const std::string& name, ValueId from, std::size_t channels, const Window& window);
  /// Without the ReLU.
  ValueId linear_convolution(const std::string& name, ValueId from, std::size_t channels, const Window& window);

  ValueId max_pool(const std::string& name, ValueId from, const Window& window);
  ValueId mean_pool(const std::string& name, ValueId from, const Window& window);
  ValueId global_pool(ValueId from);                                                ///< the mean of each channel
  ValueId concatenate(const std::string& name, const std::vector<ValueId>& parts);  ///< along the channels
  ValueId add(const std::string& name, ValueId x, ValueId shortcut);                ///< and a ReLU

  /// Two 3×3 convolutions, plus the shortcut; with a stride, that of the first, the shortcut is a 1×1 convolution.
  ValueId basic_block(const std::string& name, ValueId from, std::size_t channels, std::size_t stride);

  /// A convolution whose filter is the whole image, with a bias.
  ValueId fully_connected(const std::string& name, ValueId from, std::size_t outputs);
  ValueId relu(const std::string& name, ValueId from);

  /// One direction, see LstmFrame.
  ValueId lstm(const std::string& name, ValueId from, std::size_t cells, bool always_input_gradient);

  Graph build(ValueId output) && { return std::move(graph_).build(output); }

 private:
  GraphBuilder graph_;
  Normalise normalise_;
};

}  // namespace paragrad::nn::zoo
