#pragma once

#include "backend/kernels/pool.hpp"
#include "nn/op.hpp"
#include "nn/ops/image_window.hpp"

namespace paragrad::nn {

/// Maximum or mean of each channel of {height, width, channels} in a window; zeros around the image do not count.
class Pool final : public Op {
 public:
  enum class Kind { maximum, mean };
  static constexpr Window whole_image{0, 0, 1, Padding::valid};

  Pool(Kind kind, const Window& window) : kind_(kind), window_(window) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<MemorySpec> memory(Types inputs) const override;
  bool backward_reads_input(std::size_t) const override { return false; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;

 private:
  backend::PoolShape shape(const ValueType& input, std::size_t rows) const;

  Kind kind_;
  Window window_;
};

}  // namespace paragrad::nn
