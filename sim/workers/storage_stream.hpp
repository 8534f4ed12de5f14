#pragma once

#include <memory>
#include <utility>

#include "data/sample_stream.hpp"
#include "sim/workers/task_fiber.hpp"

namespace paragrad::sim {

/// Samples that take simulated time to read: each list is one read of the platform's file system (Storage), on another fiber
/// than the worker's, which begins when Io says.
class StorageStream : public data::SampleStream {
 public:
  /// rank: of the worker that reads, on the fiber `reader`.
  StorageStream(std::unique_ptr<data::SampleStream> samples, Cluster& cluster, int rank, TaskFiber& reader)
      : samples_(std::move(samples)), cluster_(cluster), rank_(rank), reader_(reader) {}

  std::size_t prefetch(data::SampleList list) override {
    const std::size_t rows = samples_->prefetch(std::move(list));
    bytes_ = rows * cluster_.row_bytes;
    if (cluster_.io == Io::prefetch) start_read();
    return rows;
  }
  void advance() override {
    if (cluster_.io == Io::blocking) start_read();
    reader_.join();
    samples_->advance();
  }
  data::Batch next(std::size_t at_most) override { return samples_->next(at_most); }
  double waited_s() const override { return samples_->waited_s(); }

 private:
  void start_read() {
    reader_.launch([&cluster = cluster_, rank = rank_, bytes = bytes_](comm::Communicator&) {
      cluster.storage.read(rank, static_cast<std::int64_t>(bytes));
    });
  }

  std::unique_ptr<data::SampleStream> samples_;
  Cluster& cluster_;
  int rank_;
  TaskFiber& reader_;
  std::uint64_t bytes_ = 0;  // prefetched, but not the current list's
};

}  // namespace paragrad::sim
