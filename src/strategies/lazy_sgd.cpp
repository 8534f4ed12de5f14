#include "strategies/lazy_sgd.hpp"

#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::strategies {

LazySgd::LazySgd(const StrategyOptions& options) : AsyncSgd(options) {
  const ServerOptions& server = options.server;
  if (!(server.lazy_threshold >= 0))
    throw core::ConfigError(core::format("the lazy push threshold {} must be 0 or more", server.lazy_threshold));
  if (server.lazy_minibatches < 1)
    throw core::ConfigError("lazy_sgd holds back the gradients of at least 1 minibatch: give 1 or more");
}

bool LazySgd::due(comm::Worker& worker, Replica& replica) {
  if (!worker.device().computes())
    throw core::ConfigError(
        "lazy_sgd depends on gradient values, which a timing run does not have: choose async_sgd with --push-every");
  if (minibatches() < options().push_every) return false;
  if (minibatches() >= options().lazy_minibatches) return true;
  double gradient = 0, parameters = 0;
  worker.run_kernels([&](backend::KernelQueue& queue) {
    gradient = queue.squared_norm(sum());
    parameters = queue.squared_norm(replica.parameters);
  });
  return step_of_sum().rate * std::sqrt(gradient) >= options().lazy_threshold * std::sqrt(parameters);
}

}  // namespace paragrad::strategies
