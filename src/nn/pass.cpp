#include "nn/pass.hpp"

#include <algorithm>
#include <stdexcept>

namespace paragrad::nn {

backend::KernelQueue& Pass::queue() const {
  if (queue_ == nullptr) throw std::logic_error("no kernels while data are exchanged");
  return *queue_;
}

core::RandomStream Pass::random(core::Purpose purpose) const {
  return {state_.seed, purpose, state_.epoch * state_.graph.streams() + node_.stream};
}

std::span<const float> Pass::x(std::size_t i) const {
  const ValueId id = node_.inputs[i];
  if (id == GraphBuilder::input) return state_.features;
  return planned(state_.graph.plan().values[id], value(id).type.size());
}

std::span<float> Pass::y(std::size_t i) const {
  return planned(state_.graph.plan().values[node_.outputs[i]], output_type(i).size());
}

std::span<float> Pass::dy(std::size_t i) const {
  return planned(state_.graph.plan().gradients[node_.outputs[i]], output_type(i).size());
}

// The backward pass comes to the consumers of a value in reverse order, and to the inputs of one node in order.
InputSink Pass::dx(std::size_t i) const {
  const ValueId id = node_.inputs[i];
  const Value& of = value(id);
  if (!of.has_gradient) return {};
  const auto before = std::ranges::count(std::span(node_.inputs).first(i), id);
  const auto after = std::ranges::count(std::span(node_.inputs).subspan(i + 1), id);
  const bool first = of.consumers.back() == id_ && before == 0, last = of.consumers.front() == id_ && after == 0;
  InputSink sink{.into = planned(state_.graph.plan().gradients[id], of.type.size()), .keep = first ? 0.f : 1.f};
  if (last) {
    sink.f = state_.graph.nodes()[*of.producer].op->activation();
    sink.y = planned(state_.graph.plan().values[id], of.type.size());
  }
  return sink;
}

GradientSink Pass::gradient(std::size_t k) const {
  GradientSink sink = state_.sink.part(range_of(k));
  if (state_.graph.parameters()[node_.parameters[k]].last_user != id_) sink.keep = 1;
  if (!is_owner(k)) sink.descent.reset();
  return sink;
}

void Pass::ready(std::size_t k, core::Range range) const {
  if (!is_owner(k) || state_.ready == nullptr) return;
  const std::size_t begin = range_of(k).begin;
  (*state_.ready)({begin + range.begin, begin + range.end});
}

std::span<float> Pass::memory(std::string_view name) const {
  for (const PlannedMemory& at : state_.graph.plan().memory[id_]) {
    if (at.name != name) continue;
    if (at.kind == MemorySpec::Kind::fixed) return state_.fixed.subspan(at.offset, at.size);
    return planned(backward_ ? at.backward_offset : at.offset, at.size);
  }
  throw std::logic_error(node_.name + ": no memory of this name: " + std::string(name));
}

}  // namespace paragrad::nn
