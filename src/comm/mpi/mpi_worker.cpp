#include "comm/mpi/mpi_worker.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "comm/tags.hpp"

namespace paragrad::comm {

/// An additional thread with its own queue of tasks, device and communicator on the channel.
class MpiWorker::Lane {
 public:
  using OnError = std::function<void(const std::string& what)>;

  Lane(const MpiCommunicator& channel, std::string_view device_name, bool is_service = false, OnError on_error = nullptr)
      : on_error_(std::move(on_error)),
        device_(backend::make_device(device_name)),
        communicator_(channel, *device_, MpiCommunicator::SameChannel{.own_traffic = is_service}),
        thread_([this] { work(); }) {}

  ~Lane() {
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

  /// See Worker::attempt.
  bool join_for(double limit_s, const Steps& steps) {
    {
      std::unique_lock lock(mutex_);
      const auto limit = std::chrono::duration<double>(limit_s);
      const auto count = [&] { return steps ? steps->load() : 0; };
      std::uint64_t before = count();
      while (!changed_.wait_for(lock, limit, [this] { return tasks_.empty() && !busy_; }))
        if (const std::uint64_t now = count(); std::exchange(before, now) == now) return false;
    }
    join();
    return true;
  }

  /// Whether join() would wait or throw.
  bool occupied() {
    const std::lock_guard lock(mutex_);
    return busy_ || !tasks_.empty() || error_ != nullptr;
  }

  void rethrow_error() {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
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
      std::string what;
      try {
        task(communicator_);
      } catch (const std::exception& caught) {
        error = std::current_exception();
        what = caught.what();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      busy_ = false;
      if (error) {
        if (!error_) error_ = error;
        tasks_.clear();
        if (on_error_) on_error_(what);
      }
      changed_.notify_all();
    }
  }

  OnError on_error_;  // called when join() would rethrow it
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

MpiWorker::MpiWorker(MpiCommunicator& communicator, MpiSession* session)
    : RealWorker(communicator, communicator.allows_threads()),
      communicator_(communicator),
      channel_(communicator, communicator.device()),
      session_(session != nullptr && session->deaths_may_be_survived() ? session : nullptr) {
  using enum RankGuard::Death;
  if (session_ != nullptr)
    communicator_.when_expendable([session](bool expendable) { session->set_death(expendable ? is_survived : ends_run); });
}

MpiWorker::~MpiWorker() = default;

/// With the settings that comm() has by now.
MpiCommunicator& MpiWorker::channel() {
  channel_.set_workers_per_node(communicator_.workers_per_node());
  return channel_;
}

void MpiWorker::launch(Task task) {
  if (!communicator_.allows_threads()) return RealWorker::launch(std::move(task));
  if (tasks_ == nullptr) tasks_ = std::make_unique<Lane>(channel(), device().name());
  tasks_->launch(std::move(task));
}

void MpiWorker::join() {
  RealWorker::join();
  if (tasks_ == nullptr) return;
  try {
    tasks_->join();
  } catch (const Failure&) {
    if (service_ != nullptr) service_->rethrow_error();  // which is why the task failed
    throw;
  }
}

void MpiWorker::serve(Task task) {
  if (!communicator_.allows_threads()) return RealWorker::serve(std::move(task));
  if (service_ == nullptr)
    service_ = std::make_unique<Lane>(channel(), device().name(), true, [this](const std::string& what) {
      channel_.abandon(what);
      communicator_.abandon(what);
    });
  if (service_->occupied()) throw std::logic_error("a worker has one service at a time");
  service_->launch(std::move(task));
}

void MpiWorker::join_service() {
  RealWorker::join_service();
  if (service_ != nullptr) service_->join();
}

bool MpiWorker::attempt(Task task, double limit_s, Steps steps) {
  attempted_ = true;
  auto channel = std::make_unique<MpiCommunicator>(communicator_, device());
  if (!communicator_.allows_threads()) {
    task(*channel);
    return true;
  }
  auto lane = std::make_unique<Lane>(*channel, device().name());
  lane->launch(std::move(task));
  if (lane->join_for(limit_s, steps)) return true;
  lost_a_thread_ = true;
  static_cast<void>(lane.release());  // its thread goes on using them
  static_cast<void>(channel.release());
  return false;
}

/// The first round tells every worker that all have done their work, so that from then on a death is no loss; the second,
/// that all know this. After that no worker is missing when MPI is finalised.
bool MpiWorker::part() {
  if (session_ == nullptr && !attempted_) return !membership().knows_of_loss();
  std::fflush(nullptr);
  membership().set_expendable(true);
  const bool in_common = !lost_a_thread_ && !membership().knows_of_loss();
  if (!in_common) communicator_.end_left_out();
  if (!exchange_farewells(in_common)) return false;
  if (session_ != nullptr) session_->set_death(RankGuard::Death::is_late);
  return exchange_farewells(true);
}

/// False: a worker is missing, or has to leave.
bool MpiWorker::exchange_farewells(bool in_common) {
  const std::byte mine{!in_common};
  std::vector<std::byte> theirs(static_cast<std::size_t>(size()));
  std::vector<Request> sends, receives;
  const auto unless_gone = [&](const auto& action) {
    try {
      action();
    } catch (const PeerGone&) {
      in_common = false;
    }
  };
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    const auto its = std::span(theirs).subspan(static_cast<std::size_t>(peer), 1);
    unless_gone([&] { receives.push_back(communicator_.start_receive(peer, farewell_tag, its)); });
    unless_gone([&] { sends.push_back(communicator_.start_send(peer, farewell_tag, std::span(&mine, 1))); });
  }
  constexpr double moment_s = 1;  // a worker that has to leave does not wait for others
  if (!in_common) {
    for (const Request request : sends) unless_gone([&] { communicator_.wait_for(request, moment_s); });
    return false;
  }
  for (const auto* requests : {&sends, &receives})
    for (const Request request : *requests) unless_gone([&] { communicator_.wait(request); });
  const bool all_free = std::all_of(theirs.begin(), theirs.end(), [](std::byte lost) { return lost == std::byte{0}; });
  return in_common && all_free && !communicator_.somebody_is_gone();
}

void MpiWorker::abandon_tasks() noexcept {
  RealWorker::abandon_tasks();
  if (tasks_ != nullptr) tasks_->abandon();
  if (service_ != nullptr) service_->abandon();
}

}  // namespace paragrad::comm
