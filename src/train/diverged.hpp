#pragma once

#include "core/errors.hpp"

namespace paragrad::train {

/// A loss or a weight is no longer finite. Trainer adds whether an earlier model is kept.
class Diverged : public core::ConfigError {
 public:
  using core::ConfigError::ConfigError;
};

}  // namespace paragrad::train
