#pragma once

#include <functional>
#include <span>

#include "comm/worker.hpp"
#include "core/arena.hpp"
#include "core/state_view.hpp"
#include "train/learners/learner.hpp"

namespace paragrad::train {

/// The exponential mean of a model over the blocks of its training (Polyak and Juditsky, 1992; EMA), without bias towards
/// the first models (as in Adam):
///
///   mean = mean + (1-D)/(1-D^t)·(model - mean) after block t
///
/// It is what is scored and saved; training goes on from the model. Each worker has the mean of its own replica, with which
/// it begins the next block, and of its running statistics: replicas agree then, and statistics are averaged over the
/// workers when they are shown. Costs a pass over the model per block, and the memory of two models.
class ModelMean {
 public:
  /// decay: D, in [0, 1); 0: no mean, and no call has an effect.
  ModelMean(double decay, comm::Worker& worker, Learner& learner);

  void take_in();  ///< after a block
  void show();     ///< puts the mean into the learner, if there is one yet
  void resume();   ///< puts back what show() found there
  void forget();   ///< begins anew

  void describe_state(core::StateView& state);

 private:
  /// Runs kernels on the parameters, and then on the running statistics, of the learner, the mean and the model.
  using Part =
      std::function<void(backend::KernelQueue&, std::span<float> learner, std::span<float> mean, std::span<float> model)>;
  void for_parts(const Part& part);

  double decay_;
  comm::Worker& worker_;
  Learner& learner_;
  core::Arena mean_, model_;  // parameters and running statistics; model_: while the mean is shown
  double blocks_ = 0;         // t
  bool shown_ = false;
};

}  // namespace paragrad::train
