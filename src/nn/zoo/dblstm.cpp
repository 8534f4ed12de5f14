#include "nn/zoo/sketch.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {

/// Chen and Huo, ICASSP 2016: 5 hidden layers of 256 forward and 256 backward memory blocks, 9,304 states. A sample is a
/// frame. The paper does not give the features per frame; 39 matches "about 11 million parameters".
Layers make_dblstm() {
  constexpr std::size_t features = 39, cells = 256, hidden_layers = 5, states = 9304;
  Sketch net({features, 1, 1}, Normalise::bias);
  Shape x{features, 1, 1};
  for (std::size_t layer = 1; layer <= hidden_layers; ++layer) {
    const std::string name = "lstm" + std::to_string(layer);
    const Shape forward = net.lstm(name + "/forward", x.size(), cells);
    const Shape backward = net.lstm(name + "/backward", x.size(), cells);
    x = net.concatenate(name, {forward, backward});
  }
  net.fully_connected("output", x, states);
  return net.layers();
}

}  // namespace paragrad::nn::zoo
