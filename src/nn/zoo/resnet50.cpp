#include "nn/zoo/bottlenecks.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {

ZooEntry resnet50_entry() {
  return network({.name = "resnet50", .summary = "ResNet-50 v1: 25.6 M parameters", .source = "He et al., CVPR 2016"}, [] {
    return make_resnet_of_bottlenecks({3, 4, 6, 3});
  });
}

}  // namespace paragrad::nn::zoo
