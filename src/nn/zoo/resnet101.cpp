#include "nn/zoo/bottlenecks.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {

ZooEntry resnet101_entry() {
  return network({.name = "resnet101", .summary = "ResNet-101 v1: 44.5 M parameters", .source = "He et al., CVPR 2016"}, [] {
    return make_resnet_of_bottlenecks({3, 4, 23, 3});
  });
}

}  // namespace paragrad::nn::zoo
