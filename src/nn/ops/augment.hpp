#pragma once

#include "backend/kernels/augment.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

/// Images changed a little by chance in training, a different way in every epoch (backend/kernels/augment.hpp); as they are
/// otherwise. For the input of a network.
class Augment final : public Op {
 public:
  explicit Augment(const backend::Augmentation& augmentation) : augmentation_(augmentation) {}

  std::string name() const override { return "augment"; }
  std::vector<ValueType> infer(Types inputs) const override;
  bool takes_only_data() const override { return true; }
  bool backward_reads_input(std::size_t) const override { return false; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass&) const override {}

 private:
  backend::Augmentation augmentation_;
};

}  // namespace paragrad::nn
