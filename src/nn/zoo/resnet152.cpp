#include "nn/zoo/bottlenecks.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {

ZooEntry resnet152_entry() {
  return network({.name = "resnet152", .summary = "ResNet-152 v1: 60.2 M parameters", .source = "He et al., CVPR 2016"}, [] {
    return make_resnet_of_bottlenecks({3, 8, 36, 3});
  });
}

}  // namespace paragrad::nn::zoo
