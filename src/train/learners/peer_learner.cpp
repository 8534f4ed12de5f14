#include "train/learners/peer_learner.hpp"

#include "comm/operations.hpp"

namespace paragrad::train {
namespace {

class WorkerPeers : public nn::ReplicaPeers {
 public:
  WorkerPeers(comm::Worker& worker, std::string_view all_gather) : worker_(worker), all_gather_(all_gather) {}

  void run(const nn::Kernels& kernels) override { worker_.run_kernels(kernels); }
  void gather(std::span<const core::Range> parts, std::span<float> array) override {
    all_gather_(worker_.comm(), comm::Parts(parts), array);
  }
  void sum(std::span<const core::Range> parts, std::span<float> array) override {
    reduce_scatter_(worker_.comm(), comm::Parts(parts), array);
  }

 private:
  comm::Worker& worker_;
  comm::AllGather all_gather_;
  comm::ReduceScatter reduce_scatter_{"direct"};  // for the parts of one replica, which are few and close together
};

}  // namespace

PeerLearner::PeerLearner(comm::Worker& peers, std::string_view all_gather, backend::Device& device,
                         std::shared_ptr<const nn::Graph> graph, const TrainingOptions& options, std::size_t minibatch,
                         bool bare_gradient, std::size_t rows_per_sample)
    : NetworkLearner(device, std::move(graph), options, minibatch, bare_gradient, rows_per_sample,
                     std::make_unique<WorkerPeers>(peers, all_gather)),
      peers_(peers) {}

std::size_t PeerLearner::descend(backend::KernelQueue& queue, const MicroBatch& part, const optim::Step& step,
                                 backend::LossSum* into) {
  if (part.batch.size() == 0) return 0;
  if (part.first) optimiser().begin_step();
  return pass(queue, part, sink_of(part, step), into, [&](core::Range range) {
    if (!part.last) return;
    peers_.run_kernels([&](backend::KernelQueue& kernels) { optimiser().update(kernels, range, step, parameters()); });
  });
}

}  // namespace paragrad::train
