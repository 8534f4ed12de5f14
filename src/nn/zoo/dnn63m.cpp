#include "nn/model.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

/// Chen and Huo, ICASSP 2016: 11 frames in, 7 hidden layers of 2048 ReLU, 18,002 tied states out. The paper does not
/// give the features per frame; 39 matches "about 63 million parameters".
Graph make_dnn63m() { return make_graph("429-7x2048-18002:relu"); }

}  // namespace

ZooEntry dnn63m_entry() {
  return network({.name = "dnn63m",
                  .summary = "speech network, 7 x 2048 ReLU on 11 frames of 39 features: 62.9 M parameters, trainable",
                  .source = "Chen and Huo, ICASSP 2016"},
                 make_dnn63m);
}

}  // namespace paragrad::nn::zoo
