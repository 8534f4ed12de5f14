#include "backend/kernels/losses.hpp"
#include "nn/losses/loss_entry.hpp"

namespace paragrad::nn {
namespace {

class SquaredError : public Loss {
 public:
  explicit SquaredError(core::NoOptions) {}

  void run(backend::KernelQueue& queue, const data::Batch& batch, std::size_t width, std::span<float> outputs,
           backend::LossSum* into) const override {
    queue.run(backend::SquaredError{batch.size(), width, batch.labels, outputs, into, batch.columns.targets,
                                    batch.columns.weights});
  }
  double without_learning(std::size_t classes, double target_variance) const override {
    return target_variance > 0 ? target_variance / 2 : 0.5 * (1 - 1 / static_cast<double>(classes));
  }
};

}  // namespace

LossEntry squared_error_loss() {
  LossEntry entry = loss_entry_of<SquaredError, core::NoOptions>(
      {.name = "squared_error", .summary = "half the squared distance from targets, or from 1 for the label's class and 0"});
  entry.takes_targets = true;
  entry.of_log_probabilities = false;
  return entry;
}

}  // namespace paragrad::nn
