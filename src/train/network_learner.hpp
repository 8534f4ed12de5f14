#pragma once

#include <memory>

#include "nn/model.hpp"
#include "train/learner.hpp"
#include "train/options.hpp"

namespace paragrad::train {

/// A network and its loss. A minibatch larger than the model's buffers is processed in pieces whose gradients add up, all
/// but the last piece in the first stage.
class NetworkLearner : public Learner {
 public:
  NetworkLearner(backend::Device& device, std::shared_ptr<const nn::Network> network, const Options& options,
                 std::size_t minibatch, bool bare_gradient);

  std::size_t inputs() const override { return model_.inputs(); }
  std::size_t outputs() const { return model_.outputs(); }
  std::size_t largest_batch() const override { return model_.max_batch(); }

  std::vector<Stage> stages(std::size_t elements) const override;
  backend::LossSum gradient(const Stage& stage, std::size_t samples, const NextBatch& next,
                            const optim::Step& step) override;
  backend::LossSum descend(std::size_t samples, const NextBatch& next, const optim::Step& step) override;
  backend::LossSum evaluate(std::size_t samples, const NextBatch& next) override;

 private:
  void do_initialise(std::uint64_t seed, std::span<float> parameters) const override { model_.initialise(seed, parameters); }
  backend::LossSum pass_until_last_loss(std::size_t samples, const NextBatch& next, float keep);
  nn::GradientSink sink_of_last_piece(std::size_t samples, float keep);

  std::shared_ptr<const nn::Network> network_;
  nn::Model model_;
  nn::Loss loss_;
  data::Batch last_piece_;  // of the minibatch in hand
};

/// options must outlive what is returned.
MakeLearner network_learners(std::shared_ptr<const nn::Network> network, const Options& options);

}  // namespace paragrad::train
