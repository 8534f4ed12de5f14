#include "data/row_stream.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace paragrad::data {

RowStream::RowStream(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher, Arrival arrival)
    : dataset_(std::move(dataset)), subset_(subset), prefetcher_(prefetcher), arrival_(std::move(arrival)) {}

RowStream::~RowStream() {
  if (arriving_.valid()) arriving_.wait();
}

std::size_t RowStream::prefetch(SampleList rows) {
  if (arriving_.valid()) throw std::logic_error("RowStream::prefetch: the rows prefetched before were not taken yet");
  if (rows.count != rows.indices.size()) throw std::logic_error("RowStream::prefetch: rows are read by their indices");
  arriving_ = prefetcher_.submit([this, indices = std::move(rows.indices)]() mutable {
    incoming_.read(*dataset_, subset_, std::move(indices));
    if (arrival_) arrival_(incoming_);
  });
  return rows.count;
}

void RowStream::advance() {
  if (!arriving_.valid()) throw std::logic_error("RowStream::advance: nothing was prefetched");
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  arriving_.wait();
  waited_s_ += std::chrono::duration<double>(Clock::now() - start).count();
  current_.clear();
  position_ = 0;
  arriving_.get();
  std::swap(current_, incoming_);
}

Batch RowStream::next(std::size_t at_most) {
  if (at_most == 0) throw std::logic_error("RowStream::next: a minibatch of no samples");
  const std::size_t first = position_;
  position_ += std::min(at_most, remaining());
  const core::Range range{first, position_};
  return {.features = {},
          .labels = range.of(std::span<const std::int32_t>(current_.labels)),
          .rows = range.of(std::span<const std::uint32_t>(current_.rows)),
          .stored = {.windows = range.of(std::span<const std::uint32_t>(current_.windows)),
                     .split = &current_,
                     .rows_of_split = range}};
}

}  // namespace paragrad::data
