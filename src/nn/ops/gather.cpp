#include "nn/ops/gather.hpp"

#include "backend/kernels/add_columns.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "backend/kernels/fill.hpp"
#include "nn/columns.hpp"
#include "nn/ops/checks.hpp"
#include "nn/pass.hpp"
#include "nn/replica_peers.hpp"

namespace paragrad::nn {

std::vector<ValueType> Gather::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {whole_};
}

// All workers' parts one after the other, each [rows][its columns], to be sent.
std::vector<MemorySpec> Gather::memory(Types) const { return {{"parts", whole_.size(), MemorySpec::Kind::scratch}}; }

std::vector<core::Range> Gather::parts(std::size_t rows) const {
  std::vector<core::Range> parts;
  for (std::size_t k = 0; k < workers_; ++k) parts.push_back({rows * columns(k).begin, rows * columns(k).end});
  return parts;
}

void Gather::forward(const Pass& pass) const {
  pass.queue().run(backend::Copy{pass.x(), parts(pass.rows())[index_].of(pass.memory("parts"))});
}

void Gather::exchange_forward(const Pass& pass, ReplicaPeers& peers) const {
  peers.gather(parts(pass.rows()), pass.memory("parts"));
}

void Gather::after_forward(const Pass& pass) const {
  const std::size_t rows = pass.rows(), width = whole_.size();
  for (std::size_t k = 0; k < workers_; ++k)
    pass.queue().run(backend::CopyColumns{rows, columns(k).size(), columns(k).size(),
                                          parts(rows)[k].of(std::span<const float>(pass.memory("parts"))), width,
                                          columns_of(pass.y(), rows, width, columns(k))});
}

void Gather::backward_inputs(const Pass& pass) const {
  const std::size_t rows = pass.rows(), width = whole_.size();
  const auto take = [&](std::size_t k, std::span<float> to) {
    pass.queue().run(backend::CopyColumns{rows, columns(k).size(), width,
                                          columns_of(std::span<const float>(pass.dy()), rows, width, columns(k)),
                                          columns(k).size(), to});
  };
  if (of_network_) {  // whose gradient nothing else contributes to
    take(index_, pass.dx().into);
    return apply_slope(pass.queue(), pass.dx());
  }
  for (std::size_t k = 0; k < workers_; ++k) take(k, parts(rows)[k].of(pass.memory("parts")));
}

void Gather::exchange_backward(const Pass& pass, ReplicaPeers& peers) const {
  peers.sum(parts(pass.rows()), pass.memory("parts"));
}

void Gather::after_backward(const Pass& pass) const {
  add_gradient(pass.queue(), pass.dx(), parts(pass.rows())[index_].of(pass.memory("parts")));
}

std::vector<ValueType> SumOfParts::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {inputs[0]};
}

std::vector<MemorySpec> SumOfParts::memory(Types inputs) const {
  return {{"sum", inputs[0].size(), MemorySpec::Kind::scratch}};
}

void SumOfParts::add_up(const Pass& pass, ReplicaPeers& peers) const {
  std::vector<core::Range> parts;
  for (std::size_t k = 0; k < workers_; ++k) parts.push_back(core::part_of(pass.memory("sum").size(), workers_, k));
  peers.sum(parts, pass.memory("sum"));
  peers.gather(parts, pass.memory("sum"));
}

void SumOfParts::forward(const Pass& pass) const { pass.queue().run(backend::Copy{pass.x(), pass.memory("sum")}); }
void SumOfParts::after_forward(const Pass& pass) const { pass.queue().run(backend::Copy{pass.memory("sum"), pass.y()}); }

void SumOfParts::backward_inputs(const Pass& pass) const {
  if (of_network_) return add_gradient(pass.queue(), pass.dx(), pass.dy());
  pass.queue().run(backend::Copy{pass.dy(), pass.memory("sum")});
}

void SumOfParts::after_backward(const Pass& pass) const { add_gradient(pass.queue(), pass.dx(), pass.memory("sum")); }

std::vector<ValueType> TakePart::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {{{core::part_of(inputs[0].size(), workers_, index_).size()}}};
}

void TakePart::forward(const Pass& pass) const {
  const core::Range own = core::part_of(pass.input_type(0).size(), workers_, index_);
  const std::size_t width = pass.input_type(0).size();
  pass.queue().run(backend::CopyColumns{pass.rows(), own.size(), width, columns_of(pass.x(), pass.rows(), width, own),
                                        own.size(), pass.y()});
}

void TakePart::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  const core::Range own = core::part_of(pass.input_type(0).size(), workers_, index_);
  if (dx.keep == 0) pass.queue().run(backend::Fill{0, dx.into});
  pass.queue().run(backend::AddColumns{pass.rows(), own.size(), own.size(), pass.dy(), pass.input_type(0).size(),
                                       columns_of(dx.into, pass.rows(), pass.input_type(0).size(), own)});
  apply_slope(pass.queue(), dx);
}

}  // namespace paragrad::nn
