#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::data {

/// A minibatch: features[size][dim], labels[size]. What a loader hands out is host memory, valid until its next call.
struct Batch {
  std::span<const float> features;
  std::span<const std::int32_t> labels;
  std::span<const std::uint32_t> rows{};  ///< [size] of the subset that the samples are, by which randomness is keyed

  /// Where samples are frames of sequences: how many sequences have a first frame, a second, …; they lie in that order, the
  /// longest sequence first. Nothing: samples stand alone. Always the host's memory.
  std::span<const std::uint32_t> active{};
  std::size_t frames_with_loss = 0;  ///< then: that have a label, which is -1 for the others

  /// How many of what the loader was asked for: samples that stand alone, or sequences.
  std::size_t units() const { return active.empty() ? size() : active.front(); }
  std::size_t scored() const { return active.empty() ? size() : frames_with_loss; }  ///< rows that have a loss
  std::size_t size() const { return labels.size(); }                                 ///< rows
};

/// One background thread that runs tasks in order. Shared by all loaders of a process.
class Prefetcher {
 public:
  Prefetcher();
  ~Prefetcher();  ///< finishes what was submitted
  std::future<void> submit(std::function<void()> task);

 private:
  struct Thread;
  std::unique_ptr<Thread> thread_;
};

/// Hands one worker its rows, minibatch by minibatch. "Next split will be loaded to memory when the current split is being
/// processed": prefetch() starts to copy rows out of the file in the background, advance() makes them the current ones.
///
///   loader.prefetch(rows_of(0));
///   for (t = 0; t < n; ++t) {
///     loader.advance();
///     if (t + 1 < n) loader.prefetch(rows_of(t + 1));
///     while (Batch batch = loader.next(64); batch.size() > 0) …
///   }
///
/// Samples with a context are spliced as they are decoded, in one pass; each frame of a split is held once.
/// Holds the stored bytes of two splits and one decoded minibatch.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher);
  ~Loader();

  void prefetch(std::vector<std::uint32_t> rows);  ///< at most one ahead of the current split
  void advance();                                  ///< waits for the prefetched rows if need be
  Batch next(std::size_t at_most);                 ///< next rows of the current split, decoded; empty at its end
  std::size_t remaining() const;                   ///< rows of the current split not yet handed out

  double waited_s() const;  ///< wall-clock seconds that advance() spent waiting, in all

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paragrad::data
