#include "fibers/host_pool.hpp"

#include <chrono>
#include <string>
#include <system_error>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::fibers {

HostPool::HostPool(int threads) {
  const std::string failure = start(threads);
  if (!failure.empty() && threads_.size() > 1) {             // the others do it, more slowly
    const int half = static_cast<int>(threads_.size() / 2);  // all stacks may take the memory that the work needs, too
    stop();
    start(half);
  }
  if (!failure.empty() && threads_.empty())
    throw core::ConfigError(core::format(
        "cannot start a thread ({}): close other programs, or raise the limit on processes (ulimit -u)", failure));
}

HostPool::~HostPool() { stop(); }

std::string HostPool::start(int threads) {
  stop_ = false;
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    return error.what();
  }
  return {};
}

void HostPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    stop_ = true;
  }
  submitted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void HostPool::submit(std::uint64_t id, std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({id, std::move(task)});
  }
  submitted_.notify_one();
}

void HostPool::collect(bool wait, std::vector<Finished>& finished) {
  std::unique_lock lock(mutex_);
  if (wait) ended_.wait(lock, [this] { return !finished_.empty(); });
  finished.insert(finished.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

void HostPool::collect_for(double limit_s, std::vector<Finished>& finished) {
  {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, std::chrono::duration<double>(limit_s), [this] { return !finished_.empty(); });
  }
  collect(false, finished);
}

void HostPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    submitted_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    const Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Finished result{task.id, nullptr};
    try {
      task.run();
    } catch (...) {
      result.error = std::current_exception();
    }
    lock.lock();
    finished_.push_back(std::move(result));
    ended_.notify_one();
  }
}

}  // namespace paragrad::fibers
