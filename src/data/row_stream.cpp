#include "data/row_stream.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace paragrad::data {

struct Prefetcher::Thread {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::packaged_task<void()>> tasks;
  bool ending = false;
  std::thread thread;  // from the first task on

  void run() {
    for (;;) {
      std::packaged_task<void()> task;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return ending || !tasks.empty(); });
        if (tasks.empty()) return;
        task = std::move(tasks.front());
        tasks.pop_front();
      }
      task();  // an exception goes into the future
    }
  }
};

Prefetcher::Prefetcher(Reading reading) : reading_(reading), thread_(std::make_unique<Thread>()) {}

Prefetcher::~Prefetcher() {
  if (!thread_->thread.joinable()) return;
  {
    const std::lock_guard lock(thread_->mutex);
    thread_->ending = true;
  }
  thread_->changed.notify_one();
  thread_->thread.join();
}

std::future<void> Prefetcher::submit(std::function<void()> task) {
  if (reading_ == Reading::on_demand) return std::async(std::launch::deferred, std::move(task));
  std::packaged_task<void()> packaged(std::move(task));
  auto done = packaged.get_future();
  std::unique_lock lock(thread_->mutex);
  try {
    if (!thread_->thread.joinable()) thread_->thread = std::thread([this] { thread_->run(); });
  } catch (const std::system_error&) {  // the machine gives no more threads: this one does the work
    lock.unlock();
    packaged();
    return done;
  }
  thread_->tasks.push_back(std::move(packaged));
  lock.unlock();
  thread_->changed.notify_one();
  return done;
}

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
          .columns = rows_of(views_of(current_.columns), dataset_->info().widths, range),
          .rows = range.of(std::span<const std::uint32_t>(current_.rows)),
          .stored = {.windows = range.of(std::span<const std::uint32_t>(current_.windows)),
                     .split = &current_,
                     .rows_of_split = range}};
}

}  // namespace paragrad::data
