#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "data/batch.hpp"
#include "data/dataset.hpp"

namespace paragrad::data {

/// One background thread that runs tasks in order; if the machine gives none, submit() runs them. Shared by all loaders of a
/// process. The thread starts with the first task, hence after the files were opened: try_reading() forks best while a
/// process has one thread.
class Prefetcher {
 public:
  Prefetcher();
  ~Prefetcher();  ///< finishes all submitted tasks
  std::future<void> submit(std::function<void()> task);

 private:
  struct Thread;
  std::unique_ptr<Thread> thread_;
};

/// Gives one worker its rows, minibatch by minibatch. "Next split will be loaded to memory when the current split is being
/// processed": prefetch() starts copying rows from the file in the background, advance() makes them the current split.
///
///   loader.prefetch(rows_of(0));
///   for (t = 0; t < n; ++t) {
///     loader.advance();
///     if (t + 1 < n) loader.prefetch(rows_of(t + 1));
///     while (StoredBatch batch = loader.next(64); batch.size() > 0) …
///   }
///
/// Holds the stored bytes of two splits.
class Loader {
 public:
  /// Called in the background as soon as a split has been read, before advance() makes it current, for example to copy it to
  /// a device. Exceptions from here and from reading are rethrown by advance().
  using Arrival = std::function<void(const Split&)>;

  Loader(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher, Arrival arrival = {});
  ~Loader();

  void prefetch(std::vector<std::uint32_t> rows);  ///< at most one ahead of the current split
  void advance();                                  ///< waits for the prefetched rows if necessary
  StoredBatch next(std::size_t at_most);           ///< next rows of the current split; empty at its end
  std::size_t remaining() const;                   ///< rows of the current split not yet handed out

  double waited_s() const;  ///< total wall-clock seconds that advance() has waited

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paragrad::data
