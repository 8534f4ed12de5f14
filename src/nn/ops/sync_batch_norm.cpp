#include "nn/ops/sync_batch_norm.hpp"

#include "backend/kernels/sync_batch_norm.hpp"
#include "nn/ops/batch_norm.hpp"
#include "nn/ops/checks.hpp"
#include "nn/pass.hpp"
#include "nn/replica_peers.hpp"

namespace paragrad::nn {

std::string SyncBatchNorm::name() const { return with_function("sync_batch_norm", f_); }

std::vector<ValueType> SyncBatchNorm::infer(Types inputs) const { return BatchNorm().infer(inputs); }
std::vector<ParameterSpec> SyncBatchNorm::parameters(Types inputs) const { return BatchNorm().parameters(inputs); }
std::vector<BufferSpec> SyncBatchNorm::buffers(Types inputs) const { return BatchNorm().buffers(inputs); }

std::vector<MemorySpec> SyncBatchNorm::memory(Types inputs) const {
  const std::size_t channels = BatchNorm::channels_of(inputs[0]);
  return {{"used", 2 * channels, MemorySpec::Kind::fixed},
          {"together", 2 * channels, MemorySpec::Kind::fixed},
          {"all", workers_ * backend::statistics_size(channels), MemorySpec::Kind::fixed}};
}

core::Range SyncBatchNorm::part(const Pass& pass, std::size_t worker) const {
  const std::size_t size = backend::statistics_size(BatchNorm::channels_of(pass.input_type(0)));
  return {worker * size, (worker + 1) * size};
}

void SyncBatchNorm::gather(const Pass& pass, ReplicaPeers& peers) const {
  std::vector<core::Range> parts;
  for (std::size_t k = 0; k < workers_; ++k) parts.push_back(part(pass, k));
  peers.gather(parts, pass.memory("all"));
}

void SyncBatchNorm::forward(const Pass& pass) const {
  if (!pass.training()) return;
  pass.queue().run(backend::BatchMoments{BatchNorm::shape_of(pass), pass.x(), part(pass, index_).of(pass.memory("all"))});
}

void SyncBatchNorm::exchange_forward(const Pass& pass, ReplicaPeers& peers) const {
  if (pass.training()) gather(pass, peers);
}

void SyncBatchNorm::after_forward(const Pass& pass) const {
  const backend::ChannelShape shape = BatchNorm::shape_of(pass);
  std::span<float> statistics = pass.buffers();
  if (pass.training()) {
    statistics = pass.memory("together");
    pass.queue().run(
        backend::CombineMoments{workers_, shape.channels, momentum_, pass.memory("all"), pass.buffers(), statistics});
  }
  pass.queue().run(backend::BatchNormForward{shape, false, epsilon_, momentum_, f_, pass.x(), pass.parameters(0), statistics,
                                             pass.memory("used"), pass.y()});
}

void SyncBatchNorm::backward_inputs(const Pass& pass) const {
  const GradientSink parameters = pass.gradient(0);
  pass.queue().run(backend::BatchNormSums{BatchNorm::shape_of(pass), pass.x(), pass.memory("used"), pass.dy(),
                                          parameters.keep, parameters.into, part(pass, index_).of(pass.memory("all"))});
}

void SyncBatchNorm::exchange_backward(const Pass& pass, ReplicaPeers& peers) const { gather(pass, peers); }

void SyncBatchNorm::after_backward(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  pass.queue().run(backend::SyncBatchNormBackward{BatchNorm::shape_of(pass), workers_, pass.x(), pass.parameters(0),
                                                  pass.memory("used"), pass.memory("all"), pass.dy(), dx.keep, dx.into});
  apply_slope(pass.queue(), dx);
}

void SyncBatchNorm::backward_parameters(const Pass& pass) const {
  descend(pass.queue(), pass.gradient(0));
  pass.ready(0);
}

}  // namespace paragrad::nn
