#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// Batch normalisation in training with the statistics of all workers' parts of the minibatch (backend/kernels/
/// sync_batch_norm.hpp; Zhang et al., CVPR 2018, and Peng et al., CVPR 2018, for object detectors). Has the parameters and
/// buffers of BatchNorm, and the same results as one worker with the whole minibatch, up to rounding.
///
///   forward   all-gather of every worker's moments; outside training nothing is exchanged
///   backward  all-gather of every worker's sums
///
/// Bytes: with N workers and C channels each worker sends (N-1)·(2C+1) floats in each direction, per minibatch. A worker
/// without samples takes part.
class SyncBatchNorm final : public ExchangeOp {
 public:
  SyncBatchNorm(std::size_t workers, std::size_t index, backend::Activation f, float momentum, float epsilon)
      : workers_(workers), index_(index), f_(f), momentum_(momentum), epsilon_(epsilon) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  std::vector<BufferSpec> buffers(Types inputs) const override;
  std::vector<MemorySpec> memory(Types inputs) const override;
  bool needs_whole_minibatch() const override { return true; }
  bool has_state_gradient() const override { return true; }
  backend::Activation activation() const override { return f_; }

  void forward(const Pass& pass) const override;
  void exchange_forward(const Pass& pass, ReplicaPeers& peers) const override;
  void after_forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  bool exchanges_backward() const override { return true; }
  void exchange_backward(const Pass& pass, ReplicaPeers& peers) const override;
  void after_backward(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  core::Range part(const Pass& pass, std::size_t worker) const;
  void gather(const Pass& pass, ReplicaPeers& peers) const;

  std::size_t workers_, index_;
  backend::Activation f_;
  float momentum_, epsilon_;
};

}  // namespace paragrad::nn
