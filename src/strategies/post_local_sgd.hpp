#pragma once

#include "strategies/data_parallel.hpp"
#include "strategies/model_averaging.hpp"

namespace paragrad::strategies {

/// Post-local SGD (Lin, Stich, Patel and Jaggi, "Don't use large mini-batches, use local SGD", ICLR 2020): data-parallel
/// while the learning rate is large; from epoch local_start_epoch on local SGD with averaging at the end of each block.
///
/// Minibatches are shared throughout. In the local epochs each worker steps on its own part, using the mean over that part
/// instead of the mean over the whole: as many steps as before, of the same length. With one minibatch per block both are
/// the same up to rounding, as the mean of the local models is weighted by samples.
class PostLocalSgd : public Strategy {
 public:
  explicit PostLocalSgd(const StrategyOptions& options);

  Share share() const override { return Share::minibatch; }
  bool exchanges_gradients(int workers) const override { return workers > 1 && !local_; }
  std::size_t stage_elements() const override { return data_parallel_.stage_elements(); }
  void start(comm::Worker& worker, Replica& replica) override { data_parallel_.start(worker, replica); }
  void begin_epoch(comm::Worker& worker, Replica& replica, int epoch) override;
  void gradient_ready(comm::Worker& worker, Replica& replica, core::Range range) override;
  void step(comm::Worker& worker, Replica& replica) override;
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;
  void show_model(comm::Worker& worker, Replica& replica) override { data_parallel_.show_model(worker, replica); }
  void describe_state(core::StateView& state) override { data_parallel_.describe_state(state); }

 private:
  DataParallel data_parallel_;
  ModelAveraging averaging_;
  int local_start_epoch_;
  bool local_;
};

}  // namespace paragrad::strategies
