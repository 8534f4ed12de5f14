#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// In training sets each element to zero with probability p and divides the others by 1 - p (Srivastava et al., JMLR 2014);
/// otherwise y = x. What is dropped depends on the seed, the epoch, the sample and the element alone: not on the minibatch,
/// on the number of workers, or on how they split the network.
class Dropout final : public Op {
 public:
  /// first: the element of the whole value with which this part begins.
  explicit Dropout(double p, std::size_t first = 0) : p_(p), first_(first) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  bool backward_reads_input(std::size_t) const override { return false; }
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;

 private:
  double p_;
  std::size_t first_;
};

}  // namespace paragrad::nn
