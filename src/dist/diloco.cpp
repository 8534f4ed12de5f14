#include "dist/diloco.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "dist/model_averaging.hpp"

namespace paragrad::dist {

DiLoCo::DiLoCo(const StrategyOptions& options) : options_(options), allreduce_(comm::make_allreduce(options.collective)) {
  if (!(options.outer_momentum >= 0 && options.outer_momentum < 1))
    throw core::ConfigError(core::format("outer momentum {} is outside [0, 1)", options.outer_momentum));
  if (!(options.outer_learning_rate > 0))
    throw core::ConfigError(core::format("outer learning rate {} must be above 0", options.outer_learning_rate));
}

void DiLoCo::start(comm::Worker& worker, Replica& replica) {
  owned_ = allreduce_->owned(worker.comm(), replica.parameters.size());
  model_ = worker.device().allocate(owned_.size());
  velocity_ = worker.device().allocate(owned_.size());
  worker.run_kernels([&](backend::Device& device) { device.copy(owned_.of(replica.parameters), model_.span()); });
}

void DiLoCo::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  const double total = total_samples(worker, samples);
  if (total == 0) return;
  reduce_to_mean(worker, *allreduce_, replica.parameters, samples, total);
  worker.run_kernels([&](backend::Device& device) {
    const std::span<float> gradient = owned_.of(replica.parameters);  // where the mean is now
    device.scale(-1, gradient);
    device.add(model_.span(), gradient);
    device.momentum_update(static_cast<float>(options_.outer_learning_rate), static_cast<float>(options_.outer_momentum),
                           true, 0, gradient, velocity_.span(), model_.span());
    device.copy(model_.span(), gradient);
  });
  allreduce_->gather(worker.comm(), replica.parameters);
}

void DiLoCo::describe_state(core::State& state) {
  state.add("outer_model", model_.span());
  state.add("outer_velocity", velocity_.span());
}

}  // namespace paragrad::dist
