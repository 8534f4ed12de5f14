#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/options.hpp"
#include "optim/local_optimiser.hpp"
#include "strategies/parameter_server/order.hpp"

namespace paragrad::strategies {

/// Access to the servers; see ServerStrategy.
enum class Transport { messages, windows, automatic };

/// Options of the strategies that keep their parameters at servers.
struct ServerOptions {
  int servers = 0;    ///< dedicated server ranks after the workers' ranks; 0: each worker's rank also holds a part
  bool queue = true;  ///< splits go to the next free worker, see Share::epoch
  Transport transport = Transport::messages;
  double worker_timeout_s = 60;  ///< a worker silent for this long while all others wait for it is dropped

  void describe(core::OptionList& list);
};

/// Options of those that push gradients and fetch parameters.
struct PushOptions : ServerOptions {
  std::size_t push_every = 1;   ///< minibatches whose gradients are sent together (n_push of Dean et al., NIPS 2012)
  std::size_t fetch_every = 1;  ///< minibatches between two fetches of the parameters (n_fetch)
  bool prefetch = false;        ///< fetch the next minibatch's parameters while the current one is computed

  void describe(core::OptionList& list);
};

/// What the run gives to servers.
struct ServerContext {
  optim::OptimiserOptions rule{};          ///< the servers' optimiser
  optim::MomentumUnit momentum{};          ///< of the steps that workers push
  std::string record{};                    ///< file for the order in which servers served requests; "": none
  RunShape shape{};                        ///< of the run, for that file
  std::shared_ptr<const Orders> replay{};  ///< serve in this order
};

}  // namespace paragrad::strategies
