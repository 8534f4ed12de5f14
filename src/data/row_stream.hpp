#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>

#include "data/dataset.hpp"
#include "data/sample_stream.hpp"

namespace paragrad::data {

/// When a stream reads a split: in the background while the previous one is processed, or when it is needed.
enum class Reading { ahead, on_demand };

/// One background thread that runs tasks in order; if it cannot be started, submit() runs them. Shared by all streams of a
/// process. The thread starts with the first task, hence after the files were opened: try_reading() should fork while the
/// process has only one thread. When reading on demand there is no thread, and whoever waits for a task runs it.
class Prefetcher {
 public:
  explicit Prefetcher(Reading reading = Reading::ahead);
  ~Prefetcher();  ///< finishes all submitted tasks
  std::future<void> submit(std::function<void()> task);

 private:
  struct Thread;
  Reading reading_;
  std::unique_ptr<Thread> thread_;
};

/// Samples that are rows of a data set, copied from the file when the prefetcher says; their features are not decoded. Holds
/// the stored bytes of two splits.
class RowStream : public SampleStream {
 public:
  /// Called in the background as soon as a split has been read, before advance() makes it current, for example to copy it to
  /// a device. Exceptions from here and from reading are rethrown by advance().
  using Arrival = std::function<void(const Split&)>;

  RowStream(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher, Arrival arrival = {});
  ~RowStream() override;
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  std::size_t prefetch(SampleList rows) override;
  void advance() override;
  Batch next(std::size_t at_most) override;
  double waited_s() const override { return waited_s_; }
  std::size_t remaining() const { return current_.labels.size() - position_; }  ///< rows not yet handed out

 private:
  std::shared_ptr<const Dataset> dataset_;
  Subset subset_;
  Prefetcher& prefetcher_;
  Arrival arrival_;
  Split current_, incoming_;
  std::future<void> arriving_;  // valid while `incoming_` belongs to the background thread
  std::size_t position_ = 0;    // in `current_`
  double waited_s_ = 0;
};

}  // namespace paragrad::data
