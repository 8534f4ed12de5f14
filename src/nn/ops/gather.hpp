#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// Tensor parallelism: from each worker's part of a value the whole. Elements are split by core::part_of.
///
///   forward   all-gather
///   backward  each worker's gradient of the whole is an addend: reduce-scatter of their sum. Of the network's outputs it is
///             the same on all workers, and each takes its part.
///
/// Bytes per row, with p workers and n elements: each worker sends (p-1)·n/p floats forward and, if they are added, as many
/// backward.
class Gather final : public ExchangeOp {
 public:
  Gather(ValueType whole, std::size_t workers, std::size_t index, bool of_network)
      : whole_(std::move(whole)), workers_(workers), index_(index), of_network_(of_network) {}

  std::string name() const override { return "gather"; }
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<MemorySpec> memory(Types inputs) const override;
  bool backward_reads_input(std::size_t) const override { return false; }

  void forward(const Pass& pass) const override;
  void exchange_forward(const Pass& pass, ReplicaPeers& peers) const override;
  void after_forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  bool exchanges_backward() const override { return !of_network_; }
  void exchange_backward(const Pass& pass, ReplicaPeers& peers) const override;
  void after_backward(const Pass& pass) const override;

 private:
  core::Range columns(std::size_t worker) const { return core::part_of(whole_.size(), workers_, worker); }
  std::vector<core::Range> parts(std::size_t rows) const;

  ValueType whole_;
  std::size_t workers_, index_;
  bool of_network_;
};

/// Tensor parallelism: the sum of the workers' addends of a value.
///
///   forward   reduce-scatter and all-gather
///   backward  each worker's gradient of the whole is an addend, too: the same. Of the network's outputs every worker
///             already has the whole gradient, and nothing is sent.
///
/// Bytes per row, with p workers and n elements: each worker sends 2(p-1)·n/p floats forward and, if they are added, as many
/// backward.
class SumOfParts final : public ExchangeOp {
 public:
  SumOfParts(std::size_t workers, bool of_network) : workers_(workers), of_network_(of_network) {}

  std::string name() const override { return "sum of parts"; }
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<MemorySpec> memory(Types inputs) const override;
  bool backward_reads_input(std::size_t) const override { return false; }

  void forward(const Pass& pass) const override;
  void exchange_forward(const Pass& pass, ReplicaPeers& peers) const override { add_up(pass, peers); }
  void after_forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  bool exchanges_backward() const override { return !of_network_; }
  void exchange_backward(const Pass& pass, ReplicaPeers& peers) const override { add_up(pass, peers); }
  void after_backward(const Pass& pass) const override;

 private:
  void add_up(const Pass& pass, ReplicaPeers& peers) const;

  std::size_t workers_;
  bool of_network_;
};

/// From a whole value that all workers have each worker's part; its gradient is an addend that is zero elsewhere.
class TakePart final : public Op {
 public:
  TakePart(std::size_t workers, std::size_t index) : workers_(workers), index_(index) {}

  std::string name() const override { return "take part"; }
  std::vector<ValueType> infer(Types inputs) const override;
  bool backward_reads_input(std::size_t) const override { return false; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;

 private:
  std::size_t workers_, index_;
};

}  // namespace paragrad::nn
