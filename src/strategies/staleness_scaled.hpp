#pragma once

#include "strategies/async_sgd.hpp"

namespace paragrad::strategies {

/// Asynchronous SGD in which the server divides a gradient's learning rate by its staleness if that is above 1 (Zhang,
/// Gupta, Lian and Liu, IJCAI 2016).
class StalenessScaled : public AsyncSgd {
 public:
  using AsyncSgd::AsyncSgd;

 protected:
  std::unique_ptr<Policy> make_policy(int workers) const override;
};

}  // namespace paragrad::strategies
