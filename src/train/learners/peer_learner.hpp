#pragma once

#include <memory>
#include <string_view>

#include "comm/worker.hpp"
#include "train/learners/network_learner.hpp"

namespace paragrad::train {

/// A network that workers compute together: they exchange data within forward and backward passes (nn::ExchangeOp).
class PeerLearner : public NetworkLearner {
 public:
  /// peers: these workers, with this one. graph: this worker's. all_gather: the algorithm.
  PeerLearner(comm::Worker& peers, std::string_view all_gather, backend::Device& device,
              std::shared_ptr<const nn::Graph> graph, const TrainingOptions& options, std::size_t minibatch,
              bool bare_gradient, std::size_t rows_per_sample);

  bool talks() const override { return true; }
  std::size_t descend(backend::KernelQueue& queue, const MicroBatch& part, const optim::Step& step,
                      backend::LossSum* into) override;

 protected:
  comm::Worker& peers() { return peers_; }

 private:
  void run_kernels(backend::KernelQueue&, const std::function<void(backend::KernelQueue&)>& kernels) override {
    peers_.run_kernels(kernels);
  }

  comm::Worker& peers_;
};

}  // namespace paragrad::train
