#include "nn/losses/loss_entry.hpp"
#include "python/python_model.hpp"

namespace paragrad::nn {
namespace {

/// The loss of the model in Python that is given with the call.
class PythonLoss : public Loss {
 public:
  explicit PythonLoss(core::NoOptions) : model_(python::ModelOfCall::current()) {
    if (model_ == nullptr || !model_->has_loss())
      throw core::ConfigError("the loss 'python' is that of a model in Python, and none with a loss is given");
  }

  void run(backend::KernelQueue& queue, const data::Batch& batch, std::size_t width, std::span<float> outputs,
           backend::LossSum* into) const override {
    constexpr std::uint64_t flops = 3, accesses = 2;  // per output: what a squared error takes
    const std::uint64_t count = batch.size() * width, bytes = sizeof(float) * accesses * count;
    queue.run(backend::HostCall{.kernel = backend::KernelId::squared_error,
                                .size = {bytes, 1, 1},
                                .flops = flops * count,
                                .bytes = bytes,
                                .function = [=, model = model_, labels = batch.labels, targets = batch.columns.targets] {
                                  model->loss(labels, targets, outputs, *into);
                                }});
  }

 private:
  std::shared_ptr<python::PythonModel> model_;
};

}  // namespace

LossEntry python_loss_loss() {
  LossEntry entry = loss_entry_of<PythonLoss, core::NoOptions>(
      {.name = "python", .summary = "the function that is given with a model in Python"});
  entry.takes_weights = false;
  entry.takes_targets = true;
  entry.of_log_probabilities = false;
  return entry;
}

}  // namespace paragrad::nn
