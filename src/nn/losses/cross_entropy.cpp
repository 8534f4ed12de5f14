#include <cmath>

#include "backend/kernels/losses.hpp"
#include "nn/losses/loss_entry.hpp"

namespace paragrad::nn {
namespace {

struct CrossEntropyOptions {
  double smoothing = 0;

  void describe(core::OptionList& list) {
    list.group("Task");
    list.number("label-smoothing", smoothing, core::below_one,
                "share of the target output that all classes divide equally, in training (0: none)");
  }
};

class CrossEntropy : public Loss {
 public:
  explicit CrossEntropy(const CrossEntropyOptions& options) : smoothing_(static_cast<float>(options.smoothing)) {}

  void run(backend::KernelQueue& queue, const data::Batch& batch, std::size_t width, std::span<float> outputs,
           backend::LossSum* into) const override {
    queue.run(
        backend::SoftmaxCrossEntropy{batch.size(), width, batch.labels, outputs, into, smoothing_, batch.columns.weights});
  }
  double without_learning(std::size_t classes, double) const override { return std::log(static_cast<double>(classes)); }

 private:
  float smoothing_;
};

}  // namespace

LossEntry cross_entropy_loss() {
  return loss_entry_of<CrossEntropy, CrossEntropyOptions>(
      {.name = "cross_entropy", .summary = "cross entropy of the softmax of the outputs with the label's class"});
}

}  // namespace paragrad::nn
