#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace paragrad::python {

/// A thread for a worker's Python code.
///
/// The workers of one process are fibers that share a thread, and one may wait in the middle of a call from Python (in an
/// allreduce) while another runs Python code. The interpreter keeps its frames by threads, so each worker's code has one,
/// which runs only while the worker waits for it: the worker's fiber and its thread take turns.
class PythonThread {
 public:
  PythonThread();
  ~PythonThread();
  PythonThread(const PythonThread&) = delete;

  /// Runs `code` on the thread, which holds the interpreter's lock. `code` may throw nothing. Call it without the lock.
  void run(const std::function<void()>& code);

  bool is_current() const { return std::this_thread::get_id() == thread_.get_id(); }

  /// Runs `action` where run() was called, for code that run() runs: it may switch fibers. It may throw nothing. The
  /// interpreter's lock is released meanwhile.
  void outside(const std::function<void()>& action);

 private:
  enum class Turn { worker, thread };

  void work();
  void pass_to(Turn other);
  void wait_for(Turn mine);

  std::mutex mutex_;
  std::condition_variable changed_;
  Turn turn_ = Turn::worker;
  const std::function<void()>* code_ = nullptr;    ///< to run on the thread; null when it has finished
  const std::function<void()>* action_ = nullptr;  ///< to run outside of it
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace paragrad::python
