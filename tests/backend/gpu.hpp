#pragma once

#include <memory>
#include <string_view>

#include "backend/device.hpp"
#include "catch.hpp"
#include "core/errors.hpp"

namespace paragrad::backend::testing {

/// A device of the kind cuda. Nothing, with a warning, where there is no GPU: then nothing is claimed (tests/gpu/check.py
/// runs where there is one).
inline std::unique_ptr<Device> gpu_or_nothing(std::string_view name) {
  try {
    return make_device(name);
  } catch (const core::ConfigError& error) {
    WARN(error.what());
    return nullptr;
  }
}

}  // namespace paragrad::backend::testing
