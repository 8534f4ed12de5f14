#include "strategies/post_local_sgd.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::strategies {

PostLocalSgd::PostLocalSgd(const StrategyOptions& options)
    : data_parallel_(options),
      averaging_(options),
      local_start_sweep_(options.local_start_sweep),
      local_(local_start_sweep_ == 1) {
  if (local_start_sweep_ < 1)
    throw core::ConfigError(
        core::format("sweeps are counted from 1: the first local sweep cannot be {}", options.local_start_sweep));
}

void PostLocalSgd::begin_sweep(comm::Worker&, Replica&, int sweep) { local_ = sweep >= local_start_sweep_; }

void PostLocalSgd::gradient_ready(comm::Worker& worker, Replica& replica, core::Range range) {
  data_parallel_.gradient_ready(worker, replica, range);
}

void PostLocalSgd::step(comm::Worker& worker, Replica& replica) { data_parallel_.step(worker, replica); }

void PostLocalSgd::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  if (local_) averaging_.synchronise(worker, replica, samples);
}

}  // namespace paragrad::strategies
