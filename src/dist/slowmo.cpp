#include "dist/slowmo.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "dist/model_averaging.hpp"

namespace paragrad::dist {

SlowMo::SlowMo(const StrategyOptions& options) : options_(options), allreduce_(comm::make_allreduce(options.collective)) {
  if (!(options.slow_momentum >= 0 && options.slow_momentum < 1))
    throw core::ConfigError(core::format("slow momentum {} is outside [0, 1)", options.slow_momentum));
  if (!(options.slow_learning_rate > 0))
    throw core::ConfigError(core::format("slow learning rate {} must be above 0", options.slow_learning_rate));
}

void SlowMo::start(comm::Worker& worker, Replica& replica) {
  owned_ = allreduce_->owned(worker.comm(), replica.parameters.size());
  model_ = worker.device().allocate(owned_.size());
  update_ = worker.device().allocate(owned_.size());
  rate_ = 0;
  worker.run_kernels([&](backend::Device& device) { device.copy(owned_.of(replica.parameters), model_.span()); });
}

void SlowMo::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  const double total = total_samples(worker, samples);
  if (total == 0) return;
  reduce_to_mean(worker, *allreduce_, replica.parameters, samples, total);
  const double carried = rate_ > 0 ? options_.slow_momentum * replica.learning_rate / rate_ : options_.slow_momentum;
  rate_ = replica.learning_rate;
  worker.run_kernels([&](backend::Device& device) {
    device.block_filter(static_cast<float>(carried), static_cast<float>(options_.slow_learning_rate), 0, 0,
                        owned_.of(replica.parameters), model_.span(), update_.span());
  });
  allreduce_->gather(worker.comm(), replica.parameters);
  if (options_.reset_local_momentum) reset_local_momentum(worker, replica);
}

void SlowMo::describe_state(core::State& state) {
  state.add("slow_model", model_.span());
  state.add("slow_update", update_.span());
  state.add("slow_rate", rate_);
}

}  // namespace paragrad::dist
