#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/batch.hpp"

namespace paragrad::data {

/// Samples to be read, by their indices in a subset. Of imaginary samples only the number is known.
struct SampleList {
  std::size_t count = 0;
  std::vector<std::uint32_t> indices{};  ///< [count], or empty
  std::uint32_t epoch = 0;               ///< in training, from 1 on
};

/// Gives one worker its samples, list by list and minibatch by minibatch. "Next split will be loaded to memory when the
/// current split is being processed" (Chen and Huo, ICASSP 2016): prefetch() starts to read a list, advance() makes it the
/// current one.
///
///   stream.prefetch(list(0));
///   for (t = 0; t < n; ++t) {
///     stream.advance();
///     if (t + 1 < n) stream.prefetch(list(t + 1));
///     while (Batch batch = stream.next(64); batch.size() > 0) …
///   }
///
/// Streams of rows, of sequences and of windows read a data file (row_stream.hpp, sequence_stream.hpp, window_stream.hpp).
/// Other streams decorate them: they move the samples to a device, or add the time that reading takes.
class SampleStream {
 public:
  virtual ~SampleStream() = default;

  /// At most one list ahead of the current one. Returns how many rows it takes to read: of sequences, their frames with
  /// context.
  virtual std::size_t prefetch(SampleList samples) = 0;

  /// Waits for the prefetched list if necessary; the rest of the current one is dropped. Throws what went wrong with
  /// reading.
  virtual void advance() = 0;

  /// The next samples of the current list, at most `at_most` (not 0); empty at its end. Valid until the next call.
  virtual Batch next(std::size_t at_most) = 0;

  virtual double waited_s() const = 0;  ///< total wall-clock seconds that advance() has waited
};

using SampleStreamDecorator = std::function<std::unique_ptr<SampleStream>(std::unique_ptr<SampleStream>)>;

}  // namespace paragrad::data
