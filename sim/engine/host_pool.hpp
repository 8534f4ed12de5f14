#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace paragrad::sim {

/// Threads of the host that run the arithmetic of emulated workers. Tasks start in the order of submission; the order in
/// which they end is the host's affair, and the engine takes care that nothing depends on it.
class HostPool {
 public:
  struct Finished {
    std::uint64_t id = 0;
    std::exception_ptr error;
  };

  /// At most that many threads: fewer, where the host gives no more. Throws ConfigError if it gives none.
  explicit HostPool(int threads);
  ~HostPool();  ///< ends what runs, drops what waits

  std::size_t threads() const { return threads_.size(); }

  void submit(std::uint64_t id, std::function<void()> task);

  /// Appends the tasks that have ended since the last call; with `wait` there is at least one (one must be under way).
  void collect(bool wait, std::vector<Finished>& finished);

 private:
  struct Task {
    std::uint64_t id;
    std::function<void()> run;
  };

  void work();

  std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable ended_;
  std::deque<Task> waiting_;
  std::vector<Finished> finished_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace paragrad::sim
