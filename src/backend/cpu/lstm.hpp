#pragma once

#include "backend/cpu/product.hpp"
#include "backend/lstm_arguments.hpp"
#include "core/arena.hpp"

namespace paragrad::backend::cpu {

/// The LSTM kernels: per step one product of all sequences with the recurrent weights, which stay in the L2 cache between
/// steps, and one pass over the gates. A row's bits do not depend on the other sequences.
class Lstm {
 public:
  void forward(PackBuffer& buffer, const LstmShape& shape, const Steps& steps, const LstmWeights& weights,
               const LstmMemory& memory, float* y);
  void backward(PackBuffer& buffer, const LstmShape& shape, const Steps& steps, const LstmWeights& weights,
                const LstmMemory& memory, float* dy);
  void gradient(PackBuffer& buffer, const LstmShape& shape, const Steps& steps, const float* y, const LstmMemory& memory,
                const float* dy, float keep, const LstmGradients& gradients);

 private:
  float* scratch(std::size_t count);

  core::Arena scratch_;
};

}  // namespace paragrad::backend::cpu
