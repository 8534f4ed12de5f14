#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/device_array.hpp"
#include "core/arena.hpp"
#include "data/batch.hpp"
#include "data/sequences.hpp"

namespace paragrad::train {

/// Minibatches without content but of the right sizes, for a device that does not compute.
class ImaginaryBatches {
 public:
  /// all_alike: the sequence that every sample is; nothing: samples are single rows.
  ImaginaryBatches(const backend::Device& device, std::size_t dim, std::size_t largest,
                   std::optional<data::Sequence> all_alike = {});

  data::Batch next(std::size_t samples);

 private:
  std::size_t dim_;
  std::optional<data::Sequence> sequence_;
  std::vector<std::uint32_t> active_;
  core::Arena features_;                       // [rows][dim]
  backend::DeviceArray<std::int32_t> labels_;  // [rows]
  backend::DeviceArray<std::uint32_t> rows_;
};

}  // namespace paragrad::train
