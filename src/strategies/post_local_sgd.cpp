#include "strategies/post_local_sgd.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::strategies {

PostLocalSgd::PostLocalSgd(const StrategyOptions& options)
    : data_parallel_(options),
      averaging_(options),
      local_start_epoch_(options.local_start_epoch),
      local_(local_start_epoch_ == 1) {
  if (local_start_epoch_ < 1)
    throw core::ConfigError(
        core::format("epochs are counted from 1: the first local epoch cannot be {}", options.local_start_epoch));
}

void PostLocalSgd::begin_epoch(comm::Worker&, Replica&, int epoch) { local_ = epoch >= local_start_epoch_; }

void PostLocalSgd::gradient_ready(comm::Worker& worker, Replica& replica, core::Range range) {
  data_parallel_.gradient_ready(worker, replica, range);
}

void PostLocalSgd::step(comm::Worker& worker, Replica& replica) { data_parallel_.step(worker, replica); }

void PostLocalSgd::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  if (local_) averaging_.synchronise(worker, replica, samples);
}

}  // namespace paragrad::strategies
