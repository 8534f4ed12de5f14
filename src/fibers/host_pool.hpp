#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace paragrad::fibers {

/// Threads of this machine that run the arithmetic of fibers. Tasks start in the order of submission; they may end in any
/// order, and the scheduler ensures that nothing depends on it.
class HostPool {
 public:
  struct Finished {
    std::uint64_t id = 0;
    std::exception_ptr error;
  };

  /// threads: maximum; half of those that the host allows if it does not allow all. Throws ConfigError if it allows none.
  explicit HostPool(int threads);
  ~HostPool();  ///< finishes running tasks, drops waiting ones

  std::size_t threads() const { return threads_.size(); }

  void submit(std::uint64_t id, std::function<void()> task);

  /// Appends the tasks that have ended since the last call; with `wait`, waits for at least one (a task must be running).
  void collect(bool wait, std::vector<Finished>& finished);

  /// The same, but waits for at most `limit_s`.
  void collect_for(double limit_s, std::vector<Finished>& finished);

 private:
  struct Task {
    std::uint64_t id;
    std::function<void()> run;
  };

  std::string start(int threads);  ///< why not all were started; empty if all were
  void stop();
  void work();

  std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable ended_;
  std::deque<Task> waiting_;
  std::vector<Finished> finished_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace paragrad::fibers
