#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "backend/kernels/add.hpp"
#include "comm/communicator.hpp"
#include "core/philox.hpp"

namespace paragrad::comm::testing {

/// Where the messages of some threads meet. The strictest transport that the semantics allow: nothing is buffered (a send
/// ends when its receive is posted), a posted buffer is poisoned, memory that changes while it is being sent is an error,
/// and who waits in vain fails instead of hanging.
class Exchange {
 public:
  struct Transfer {
    int from, to, tag;
    std::byte* data;
    std::size_t bytes;
    std::vector<std::byte> sent;  // what a send promised
    bool done = false;
    Received received{};
  };
  using Handle = std::shared_ptr<Transfer>;

  explicit Exchange(double give_up_s) : give_up_s_(give_up_s) {}

  void send(const Handle& send) {
    const std::lock_guard lock(mutex_);
    for (auto receive = receives_.begin(); receive != receives_.end(); ++receive) {
      if (match(*send, **receive)) {
        deliver(*send, **receive);
        receives_.erase(receive);
        return;
      }
    }
    sends_.push_back(send);
  }

  void receive(const Handle& receive) {
    const std::lock_guard lock(mutex_);
    if (receive->bytes > 0) std::memset(receive->data, 0xff, receive->bytes);  // NaN
    for (auto send = sends_.begin(); send != sends_.end(); ++send) {
      if (match(**send, *receive)) {
        deliver(**send, *receive);
        sends_.erase(send);
        return;
      }
    }
    receives_.push_back(receive);
  }

  void wait(const Handle& transfer) {
    if (!wait_for(transfer, give_up_s_)) throw Failure("nobody came");
  }

  bool wait_for(const Handle& transfer, double limit_s) {
    std::unique_lock lock(mutex_);
    const auto patience = std::chrono::duration<double>(limit_s);
    if (!changed_.wait_for(lock, patience, [&] { return transfer->done; })) return false;
    if (!transfer->sent.empty() && std::memcmp(transfer->sent.data(), transfer->data, transfer->bytes) != 0) {
      throw std::logic_error("memory changed while it was being sent");
    }
    return true;
  }

  bool all_delivered() const { return sends_.empty() && receives_.empty(); }

 private:
  static bool match(const Transfer& send, const Transfer& receive) {
    return send.to == receive.to && send.tag == receive.tag && (receive.from == any_source || receive.from == send.from);
  }

  void deliver(Transfer& send, Transfer& receive) {
    if (send.bytes > receive.bytes) throw Failure("message longer than its buffer");
    if (send.bytes > 0) std::memcpy(receive.data, send.data, send.bytes);
    receive.received = {send.from, send.bytes};
    send.done = receive.done = true;
    changed_.notify_all();
  }

  double give_up_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Handle> sends_;  // in the order in which they were started
  std::deque<Handle> receives_;
};

class ThreadCommunicator : public Communicator {
 public:
  /// delays: other than 0, every call first sleeps a while that this seed decides.
  /// Nodes of two workers.
  ThreadCommunicator(backend::Device& device, Exchange& exchange, int rank, int size, std::uint64_t delays)
      : Communicator(device, rank, size), exchange_(exchange), delays_(delays) {
    set_workers_per_node(2);
  }

  Request start_send(int to, int tag, std::span<const std::byte> data) override {
    delay();
    traffic_meter()->sent(data.size());
    auto* memory = const_cast<std::byte*>(data.data());
    requests_.push_back(std::make_shared<Exchange::Transfer>(
        Exchange::Transfer{rank(), to, tag, memory, data.size(), {data.begin(), data.end()}}));
    exchange_.send(requests_.back());
    return {requests_.size() - 1};
  }

  Request start_receive(int from, int tag, std::span<std::byte> data) override {
    delay();
    longest_receive_ = std::max(longest_receive_, data.size());
    requests_.push_back(
        std::make_shared<Exchange::Transfer>(Exchange::Transfer{from, rank(), tag, data.data(), data.size(), {}}));
    exchange_.receive(requests_.back());
    return {requests_.size() - 1};
  }

  Received wait(Request request) override {
    delay();
    const auto transfer = std::exchange(requests_.at(request.id), nullptr);
    if (transfer == nullptr) throw std::logic_error("a request was waited for twice");
    exchange_.wait(transfer);
    return transfer->received;
  }

  std::optional<Received> wait_for(Request request, double limit_s) override {
    delay();
    const auto transfer = requests_.at(request.id);
    if (transfer == nullptr) throw std::logic_error("a request was waited for twice");
    if (!exchange_.wait_for(transfer, limit_s)) return std::nullopt;
    requests_[request.id] = nullptr;
    return transfer->received;
  }

  double now_s() override { return 0; }
  void add(std::span<const float> from, std::span<float> to) override { device().run(backend::Add{from, to}); }
  void library_routine(Library, Operation, std::span<const float>, std::span<float>) override {
    throw std::logic_error("threads have no library");
  }

  std::size_t longest_receive() const { return longest_receive_; }  ///< in bytes

  bool all_waited_for() const {
    return std::all_of(requests_.begin(), requests_.end(), [](const auto& request) { return request == nullptr; });
  }

 private:
  void delay() {
    if (delays_ == 0) return;
    const core::RandomStream random(delays_, core::Purpose::platform_noise, rank());
    const auto choice = random.below(400, calls_++);
    if (choice < 200) std::this_thread::sleep_for(std::chrono::microseconds(choice));
  }

  Exchange& exchange_;
  std::uint64_t delays_;
  std::uint64_t calls_ = 0;
  std::size_t longest_receive_ = 0;
  std::vector<Exchange::Handle> requests_;
};

/// Runs `program` as `workers` threads. Throws what the lowest failed worker threw; a message that nobody received or a
/// request that nobody waited for is an error.
inline void run_threads(int workers, const std::function<void(Communicator&)>& program, std::uint64_t delays = 0,
                        double give_up_s = 20) {
  Exchange exchange(give_up_s);
  std::vector<std::exception_ptr> errors(workers);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < workers; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto device = backend::make_device("reference");
        ThreadCommunicator comm(*device, exchange, rank, workers, delays);
        program(comm);
        if (!comm.all_waited_for()) throw std::logic_error("a request was never waited for");
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  if (!exchange.all_delivered()) throw std::logic_error("a message was never received");
}

}  // namespace paragrad::comm::testing
