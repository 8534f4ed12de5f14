#include "comm/mpi/mpi_worker.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace paragrad::comm {

/// The thread beside: a queue of tasks, and a communicator and a device that it alone uses.
class MpiWorker::Beside {
 public:
  explicit Beside(const MpiCommunicator& main, std::string_view device_name)
      : device_(backend::make_device(device_name)), communicator_(main, *device_), thread_([this] { work(); }) {}

  ~Beside() {
    if (std::uncaught_exceptions() > exceptions_at_start_) abandon();
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void launch(Task task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }

  void join() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
    if (const std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
  }

  void abandon() {
    std::unique_lock lock(mutex_);
    tasks_.clear();
    communicator_.abandon();
    changed_.wait(lock, [this] { return !busy_; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      busy_ = true;
      lock.unlock();
      std::exception_ptr error;
      try {
        task(communicator_);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      busy_ = false;
      if (error) {
        error_ = error;
        tasks_.clear();
      }
      changed_.notify_all();
    }
  }

  int exceptions_at_start_ = std::uncaught_exceptions();
  std::unique_ptr<backend::Device> device_;  // a device serves one thread at a time
  MpiCommunicator communicator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool busy_ = false;
  bool closing_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses all of the above
};

MpiWorker::MpiWorker(MpiCommunicator& communicator) : RealWorker(communicator), communicator_(communicator) {}
MpiWorker::~MpiWorker() = default;

void MpiWorker::launch(Task task) {
  if (!communicator_.allows_threads()) return RealWorker::launch(std::move(task));
  if (beside_ == nullptr) beside_ = std::make_unique<Beside>(communicator_, device().name());
  beside_->launch(std::move(task));
}

void MpiWorker::join() {
  RealWorker::join();
  if (beside_ != nullptr) beside_->join();
}

void MpiWorker::abandon_tasks() noexcept {
  RealWorker::abandon_tasks();
  if (beside_ != nullptr) beside_->abandon();
}

}  // namespace paragrad::comm
