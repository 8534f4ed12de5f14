#include "strategies/sgd.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::strategies {

void Sgd::start(comm::Worker& worker, Replica&) {
  if (worker.size() > 1)
    throw core::ConfigError(core::format(
        "the strategy 'sgd' trains with one worker, not {}; choose data_parallel, model_averaging or bmuf", worker.size()));
}

}  // namespace paragrad::strategies
