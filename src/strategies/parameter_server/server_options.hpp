#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "optim/local_optimiser.hpp"
#include "strategies/parameter_server/order.hpp"

namespace paragrad::strategies {

/// Options of the strategies that keep their parameters at servers.
struct ServerOptions {
  int servers = 0;              ///< dedicated server ranks after the workers' ranks; 0: each worker's rank also holds a part
  std::size_t push_every = 1;   ///< minibatches whose gradients are sent together (n_push of Dean et al., NIPS 2012)
  std::size_t fetch_every = 1;  ///< minibatches between two fetches of the parameters (n_fetch)
  bool prefetch = false;        ///< fetch the next minibatch's parameters while the current one is computed
  bool queue = true;            ///< splits go to the next free worker, see Share::epoch
  std::string transport = "messages";  ///< or windows, or auto, see ServerStrategy
  double worker_timeout_s = 60;        ///< a worker silent for this long while all others wait for it is dropped

  std::size_t staleness_bound = 4;   ///< bounded_staleness: s
  double lazy_threshold = 0.01;      ///< lazy_sgd: c
  std::size_t lazy_minibatches = 8;  ///< lazy_sgd: maximum minibatches to hold back
  double elastic_rate = 0;           ///< easgd: α; 0: 0.9 divided by the number of workers
  int backup_workers = 1;            ///< backup_workers: b

  optim::OptimiserOptions rule{};          ///< the servers' optimiser
  std::string record{};                    ///< file for the order in which servers served requests; "": none
  RunShape shape{};                        ///< of the run, for that file
  std::shared_ptr<const Orders> replay{};  ///< serve in this order
};

}  // namespace paragrad::strategies
