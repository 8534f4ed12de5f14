#include "dist/bmuf.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "dist/model_averaging.hpp"

namespace paragrad::dist {

Bmuf::Bmuf(const StrategyOptions& options)
    : options_(options), kind_(parse_kind(options.bmuf_kind)), allreduce_(comm::make_allreduce(options.collective)) {
  if (options.block_momentum && !(*options.block_momentum >= 0 && *options.block_momentum < 1))
    throw core::ConfigError(core::format("block momentum {} is outside [0, 1)", *options.block_momentum));
  if (!(options.block_learning_rate > 0))
    throw core::ConfigError(core::format("block learning rate {} must be above 0", options.block_learning_rate));
}

Bmuf::Kind Bmuf::parse_kind(std::string_view name) {
  if (name == "cbm") return Kind::cbm;
  if (name == "nbm") return Kind::nbm;
  if (name == "nbm_cntk") return Kind::nbm_cntk;
  throw core::unknown_name("kind of bmuf", name, {"cbm", "nbm", "nbm_cntk"});
}

bool Bmuf::filters() const { return workers_ > 1 || momentum_ != 0 || options_.block_learning_rate != 1; }

void Bmuf::start(comm::Worker& worker, Replica& replica) {
  workers_ = worker.size();
  momentum_ = static_cast<float>(options_.block_momentum.value_or(1 - 1.0 / workers_));
  if (!filters()) return;
  owned_ = allreduce_->owned(worker.comm(), replica.parameters.size());
  model_ = worker.device().allocate(owned_.size());
  delta_ = worker.device().allocate(owned_.size());
  worker.run_kernels([&](backend::Device& device) { device.copy(owned_.of(replica.parameters), model_.span()); });
}

void Bmuf::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  if (!filters()) return;
  if (!reduce_to_mean(worker, *allreduce_, replica.parameters, samples)) return;
  worker.run_kernels([&](backend::Device& device) {
    const std::span<float> average = owned_.of(replica.parameters);
    const float ahead_before = kind_ == Kind::nbm ? momentum_ : 0;  // cbm and nbm_cntk keep the starting point itself
    device.block_filter(momentum_, static_cast<float>(options_.block_learning_rate), ahead_before, ahead(), average,
                        model_.span(), delta_.span());
    if (kind_ == Kind::nbm_cntk) device.copy(average, model_.span());
  });
  allreduce_->gather(worker.comm(), replica.parameters);
  if (options_.reset_local_momentum) reset_local_momentum(worker, replica);
}

void Bmuf::describe_state(core::State& state) {
  state.add("block_model", model_.span());
  state.add("block_update", delta_.span());
}

void Bmuf::show_model(comm::Worker& worker, Replica& replica) {
  if (!filters() || kind_ != Kind::nbm) return;
  worker.run_kernels([&](backend::Device& device) { device.copy(model_.span(), owned_.of(replica.parameters)); });
  allreduce_->gather(worker.comm(), replica.parameters);
}

void Bmuf::resume_work(comm::Worker& worker, Replica& replica) {
  if (!filters() || kind_ != Kind::nbm) return;
  worker.run_kernels([&](backend::Device& device) {
    device.look_ahead(momentum_, model_.span(), delta_.span(), owned_.of(replica.parameters));
  });
  allreduce_->gather(worker.comm(), replica.parameters);
}

}  // namespace paragrad::dist
