#include "nn/loss.hpp"

#include <stdexcept>

#include "backend/kernels/ctc.hpp"
#include "backend/kernels/losses.hpp"
#include "core/errors.hpp"

namespace paragrad::nn {

Loss parse_loss(std::string_view name) {
  if (name == "cross_entropy") return Loss::cross_entropy;
  if (name == "squared_error") return Loss::squared_error;
  if (name == "ctc") return Loss::ctc;
  throw core::unknown_name("loss", name, {"cross_entropy", "squared_error", "ctc"});
}

void run_loss(backend::KernelQueue& queue, const Criterion& criterion, const data::Batch& batch, std::size_t width,
              std::span<float> outputs, backend::LossSum* into) {
  switch (criterion.loss) {
    case Loss::cross_entropy:
      return queue.run(backend::SoftmaxCrossEntropy{batch.size(), width, batch.labels, outputs, into, criterion.smoothing});
    case Loss::squared_error:
      return queue.run(backend::SquaredError{batch.size(), width, batch.labels, outputs, into, batch.targets});
    case Loss::ctc:
      return queue.run(backend::Ctc{width, backend::Steps(batch.active), batch.labels, outputs, into});
  }
  throw std::logic_error("no such loss");
}

}  // namespace paragrad::nn
