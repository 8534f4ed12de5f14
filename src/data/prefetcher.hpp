#pragma once

#include <functional>
#include <future>
#include <memory>

namespace paragrad::data {

/// One background thread that runs tasks in order; if the machine gives none, submit() runs them. Shared by all streams of a
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

}  // namespace paragrad::data
