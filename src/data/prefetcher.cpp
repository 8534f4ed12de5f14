#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "data/loader.hpp"

namespace paragrad::data {

struct Prefetcher::Thread {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::packaged_task<void()>> tasks;
  bool ending = false;
  std::thread thread{[this] { run(); }};  // last: everything it uses exists before it starts

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
  {
    const std::lock_guard lock(thread_->mutex);
    thread_->tasks.push_back(std::move(packaged));
  }
  thread_->changed.notify_one();
  return done;
}

}  // namespace paragrad::data
