#include <cmath>

#include "backend/kernels/focal_loss.hpp"
#include "nn/losses/loss_entry.hpp"

namespace paragrad::nn {
namespace {

struct FocalOptions {
  double gamma = 2;

  void describe(core::OptionList& list) {
    list.group("Task");
    list.number(
        "focal-gamma", gamma, {.least = 0, .most = 100},
        "focusing parameter: a row counts (1 - p)^gamma, where p is the probability of its label (0: cross entropy)");
  }
};

/// Lin, Goyal, Girshick, He and Dollár, ICCV 2017: rows that the network classifies well count less.
class Focal : public Loss {
 public:
  explicit Focal(const FocalOptions& options) : gamma_(options.gamma) {}

  void run(backend::KernelQueue& queue, const data::Batch& batch, std::size_t width, std::span<float> outputs,
           backend::LossSum* into) const override {
    queue.run(backend::FocalLoss{batch.size(), width, batch.labels, outputs, into, static_cast<float>(gamma_),
                                 batch.columns.weights});
  }
  double without_learning(std::size_t classes, double) const override {
    const double p = 1 / static_cast<double>(classes);
    return -std::pow(1 - p, gamma_) * std::log(p);
  }

 private:
  double gamma_;
};

}  // namespace

LossEntry focal_loss() {
  LossEntry entry = loss_entry_of<Focal, FocalOptions>(
      {.name = "focal",
       .summary = "cross entropy in which rows that are classified well count less; scores are the cross entropy",
       .source = "Lin et al., ICCV 2017",
       .formula = "loss = -(1 - p)^gamma log p"});
  entry.scored_by = "cross_entropy";
  return entry;
}

}  // namespace paragrad::nn
