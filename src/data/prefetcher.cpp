#include "data/prefetcher.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

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

Prefetcher::Prefetcher() : thread_(std::make_unique<Thread>()) {}

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

}  // namespace paragrad::data
