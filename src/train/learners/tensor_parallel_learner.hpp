#pragma once

#include <memory>

#include "comm/worker.hpp"
#include "nn/tensor_parallel.hpp"
#include "train/learners/peer_learner.hpp"

namespace paragrad::train {

/// Several workers hold one replica together (nn::TensorParallel): this one trains its part of the graph. All process the
/// same samples.
///
/// Results differ from those of one worker only by the order of additions where gradients of inputs are summed
/// (comm::ReduceScatter, direct), so a network without hidden layers ends in the same bits.
class TensorParallelLearner : public PeerLearner {
 public:
  /// peers: the workers that hold the replica; this learner holds the part of its rank.
  TensorParallelLearner(comm::Worker& peers, backend::Device& device, std::shared_ptr<const nn::TensorParallel> network,
                        const TrainingOptions& options, std::size_t minibatch, bool bare_gradient,
                        std::size_t rows_per_sample);

  std::size_t model_size() const override { return network_->whole().model_size(); }
  void restore(std::span<const float> model) override;
  std::vector<float> snapshot() override;

 private:
  void do_initialise(std::uint64_t seed, std::span<float> model) const override {
    network_->whole().initialise(seed, model);
  }

  std::shared_ptr<const nn::TensorParallel> network_;
};

/// Learners for the part of peers.rank(). options and peers must outlive the returned function and its learners. Throws
/// ConfigError, see nn::TensorParallel.
MakeLearner tensor_parallel_learners(comm::Worker& peers, std::shared_ptr<const nn::Graph> graph,
                                     const TrainingOptions& options, std::size_t rows_per_sample = 1);

}  // namespace paragrad::train
