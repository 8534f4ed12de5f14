#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "optim/local_optimiser.hpp"
#include "strategies/parameter_server/order.hpp"

namespace paragrad::strategies {

/// Of the strategies whose parameters lie at servers.
struct ServerOptions {
  int servers = 0;              ///< ranks behind the workers that only serve; 0: each worker's rank holds a part as well
  std::size_t push_every = 1;   ///< minibatches whose gradients are sent together (n_push of Dean et al., NIPS 2012)
  std::size_t fetch_every = 1;  ///< minibatches between two fetches of the parameters (n_fetch)
  bool prefetch = false;        ///< the parameters of the next minibatch travel while the present one is computed
  bool queue = true;            ///< splits are taken by whoever is free, see Share::queue
  std::string transport = "messages";  ///< or windows, or auto, see ServerStrategy
  double worker_timeout_s = 60;  ///< a worker that has been silent for so long while all others wait for it is left out

  std::size_t staleness_bound = 4;   ///< bounded_staleness: s
  double lazy_threshold = 0.01;      ///< lazy_sgd: c
  std::size_t lazy_minibatches = 8;  ///< lazy_sgd: that are kept back at most
  double elastic_rate = 0;           ///< easgd: α; 0: 0.9 over the number of workers
  int backup_workers = 1;            ///< backup_workers: b

  optim::OptimiserOptions rule{};          ///< by which servers apply gradients
  std::string record{};                    ///< file for the order in which servers served; "": none
  RunShape shape{};                        ///< of the run, for that file
  std::shared_ptr<const Orders> replay{};  ///< serve in this order
};

}  // namespace paragrad::strategies
