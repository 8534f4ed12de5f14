#include "nn/ops/activate.hpp"
#include "nn/ops/affine.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

/// The graph of 8-12-6:sigmoid.
Graph make_narrow() {
  GraphBuilder graph({{8}});
  ValueId x = graph.add("hidden", Affine(12, backend::Activation::sigmoid), {GraphBuilder::input});
  x = graph.add("hidden/sigmoid", Activate(backend::Activation::sigmoid), {x});
  x = graph.add("output", Affine(6), {x});
  return std::move(graph).build(x);
}

}  // namespace

ZooEntry narrow_entry() { return network({.name = "narrow", .summary = "8-12-6:sigmoid"}, make_narrow); }

}  // namespace paragrad::nn::zoo
