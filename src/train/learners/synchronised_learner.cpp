#include "train/learners/synchronised_learner.hpp"

#include "nn/graph_copy.hpp"
#include "train/learners/peer_learner.hpp"

namespace paragrad::train {
namespace {

/// Statistics are short, and the workers may be many.
constexpr const char* between_workers = "bruck";

class SynchronisedLearner : public PeerLearner {
 public:
  using PeerLearner::PeerLearner;

  std::size_t gradient(backend::KernelQueue& queue, const Stage& stage, const MicroBatch& part, const optim::Step& step,
                       backend::LossSum* into) override {
    const std::size_t scored = PeerLearner::gradient(queue, stage, part, step, into);
    if (part.batch.size() == 0) {
      const nn::GradientSink zero{.into = optimiser().gradients(), .keep = 1};
      do_steps(queue, stage.steps, part.batch, zero, into, [](core::Range) {});
    }
    return scored;
  }
};

}  // namespace

MakeLearner synchronised_learners(comm::Worker& workers, const nn::Graph& graph, const TrainingOptions& options) {
  const auto own = std::make_shared<const nn::Graph>(
      nn::synchronise_statistics(graph, static_cast<std::size_t>(workers.size()), static_cast<std::size_t>(workers.rank())));
  return [&workers, own, &options](backend::Device& device, std::size_t minibatch, bool bare_gradient) {
    return std::make_unique<SynchronisedLearner>(workers, between_workers, device, own, options, minibatch, bare_gradient,
                                                 1);
  };
}

}  // namespace paragrad::train
