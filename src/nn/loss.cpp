#include "nn/loss.hpp"

#include <stdexcept>
#include <vector>

#include "backend/kernels/ctc.hpp"
#include "backend/kernels/losses.hpp"
#include "core/errors.hpp"
#include "core/options.hpp"

namespace paragrad::nn {

namespace {

struct LossEntry {
  core::EntryInfo info;
  Loss loss;
};

const std::vector<LossEntry>& losses() {
  static const std::vector<LossEntry> entries{
      {{.name = "cross_entropy", .summary = "cross entropy of the softmax of the outputs with the label's class"},
       Loss::cross_entropy},
      {{.name = "squared_error", .summary = "half the squared distance from targets, or from 1 for the label's class and 0"},
       Loss::squared_error},
      {{.name = "ctc",
        .summary = "connectionist temporal classification: labels without their alignment to frames",
        .source = "Graves et al., ICML 2006"},
       Loss::ctc}};
  return entries;
}

}  // namespace

Loss parse_loss(std::string_view name) { return core::find_entry("loss", name, losses()).loss; }

core::CatalogueInfo loss_catalogue() { return core::info_of("loss", "losses", losses()); }

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
