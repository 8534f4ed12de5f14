#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "comm/worker.hpp"
#include "core/range.hpp"
#include "train/samples.hpp"
#include "train/source.hpp"

namespace paragrad::train {

/// Minibatches of nothing: memory of a device that does not compute, of the right sizes.
class ImaginaryBatches {
 public:
  /// all_alike: of samples that are sequences, each of them; nothing: samples stand alone.
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

/// How samples reach a worker's device: through a loader or, where nothing is computed, out of nowhere. Used as a
/// data::Loader is.
///
/// In the simulator the samples are also read from the platform's file system, as Options::io says: from the moment of
/// prefetch on, or only when they are wanted.
class Feed {
 public:
  /// largest: samples that next() will be asked for at most.
  Feed(const Source& source, data::Subset subset, comm::Worker& worker, const Options& options, std::size_t largest);

  void prefetch(std::size_t samples, const std::vector<std::uint32_t>& rows);  ///< rows: those samples, if they are known
  void prefetch(core::Range rows);                                             ///< in the order of the file
  void advance();
  data::Batch next(std::size_t at_most);
  double waited_s() const { return samples_ ? samples_->waited_s() : 0; }

 private:
  void start_reading(std::size_t rows);
  std::size_t rows_of(std::size_t samples, std::span<const std::uint32_t> list) const;

  comm::Worker& worker_;
  Io io_;
  std::size_t sample_bytes_;
  std::uint64_t wanted_bytes_ = 0;                    // announced and not yet waited for
  std::shared_ptr<const data::Sequences> sequences_;  // of samples that are
  std::optional<Samples> samples_;
  std::optional<ImaginaryBatches> imaginary_;
};

}  // namespace paragrad::train
