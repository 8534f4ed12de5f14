#include "backend/kernels/ctc.hpp"

#include "nn/losses/loss_entry.hpp"

namespace paragrad::nn {
namespace {

class Ctc : public Loss {
 public:
  explicit Ctc(core::NoOptions) {}

  void run(backend::KernelQueue& queue, const data::Batch& batch, std::size_t width, std::span<float> outputs,
           backend::LossSum* into) const override {
    queue.run(backend::Ctc{width, backend::Steps(batch.active), batch.labels, outputs, into});
  }
};

}  // namespace

LossEntry ctc_loss() {
  LossEntry entry = loss_entry_of<Ctc, core::NoOptions>(
      {.name = "ctc",
       .summary = "connectionist temporal classification: labels without their alignment to frames",
       .source = "Graves et al., ICML 2006"});
  entry.is_aligned = false;
  entry.takes_weights = false;
  return entry;
}

}  // namespace paragrad::nn
