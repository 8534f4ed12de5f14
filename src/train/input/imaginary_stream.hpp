#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/device_array.hpp"
#include "core/arena.hpp"
#include "data/sample_stream.hpp"
#include "data/sequences.hpp"

namespace paragrad::train {

/// Samples without content but of the right sizes, for a device that does not compute. There is no end to them.
class ImaginaryStream : public data::SampleStream {
 public:
  /// largest: the maximum that next() will be asked for. all_alike: the sequence that every sample is; nothing: samples are
  /// single rows. tokens: rows are tokens, without features.
  ImaginaryStream(const backend::Device& device, std::size_t dim, std::size_t largest,
                  std::optional<data::Sequence> all_alike = {}, bool tokens = false);

  std::size_t prefetch(data::SampleList samples) override { return samples.count * rows_per_sample(); }
  void advance() override {}
  data::Batch next(std::size_t samples) override;
  double waited_s() const override { return 0; }

 private:
  std::size_t rows_per_sample() const { return sequence_ ? sequence_->frames() : 1; }

  std::size_t dim_;
  std::optional<data::Sequence> sequence_;
  std::vector<std::uint32_t> active_;
  core::Arena features_;                                // [rows][dim]
  backend::DeviceArray<std::int32_t> labels_, tokens_;  // [rows]
  backend::DeviceArray<std::uint32_t> rows_;
};

}  // namespace paragrad::train
