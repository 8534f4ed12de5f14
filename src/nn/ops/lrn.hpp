#pragma once

#include "backend/kernels/lrn.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

/// The numbers of a local response normalisation (backend/kernels/lrn.hpp).
struct LrnNumbers {
  std::size_t size = 5;
  float alpha = 1e-4f, beta = 0.75f, k = 1;
};

/// Local response normalisation across the channels of an image (Krizhevsky et al., NeurIPS 2012; theirs has k = 2 and
/// alpha = 5·10^-4 in these terms).
class Lrn final : public Op {
 public:
  explicit Lrn(const LrnNumbers& numbers) : numbers_(numbers) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<MemorySpec> memory(Types inputs) const override;
  bool backward_reads_output(std::size_t) const override { return true; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;

 private:
  backend::LrnShape shape(const ValueType& input, std::size_t rows) const;

  LrnNumbers numbers_;
};

}  // namespace paragrad::nn
