#include "nn/zoo/network_builder.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

/// Chen and Huo, ICASSP 2016: 5 hidden layers of 256 forward and 256 backward memory blocks, 9,304 states. A sample is a
/// frame. The paper does not give the features per frame; 39 matches "about 11 million parameters".
Graph make_dblstm() {
  constexpr std::size_t features = 39, cells = 256, hidden_layers = 5, states = 9304;
  NetworkBuilder net({1, 1, features}, NetworkBuilder::Normalise::bias);
  ValueId x = NetworkBuilder::input;
  for (std::size_t layer = 1; layer <= hidden_layers; ++layer) {
    const std::string name = "lstm" + std::to_string(layer);
    const ValueId forward = net.lstm(name + "/forward", x, cells, false);
    const ValueId backward = net.lstm(name + "/backward", x, cells, true);  // as in all recorded times
    x = net.concatenate(name, {forward, backward});
  }
  x = net.fully_connected("output", x, states);
  return std::move(net).build(x);
}

}  // namespace

ZooEntry dblstm_entry() {
  return network({.name = "dblstm",
                  .summary = "speech network, 5 bidirectional LSTM layers on frames of 39 features: 11.7 M parameters",
                  .source = "Chen and Huo, ICASSP 2016"},
                 make_dblstm);
}

}  // namespace paragrad::nn::zoo
