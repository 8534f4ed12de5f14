#include "sim/messages/windows.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>

#include "backend/kernels/add.hpp"
#include "backend/meta/meta_memory.hpp"
#include "sim/compute/pace.hpp"
#include "sim/engine/timed_fiber.hpp"
#include "sim/messages/interceptor.hpp"

namespace paragrad::sim {

using Lock = comm::Window::Lock;

/// A lock that is held, and the transfers made under it.
struct Windows::Held {
  Lock kind = Lock::shared;
  std::size_t under_way = 0;
  Time complete_at = 0;     // end of the last completed transfer
  Fiber* waiter = nullptr;  // in unlock
};

struct Windows::Operation {
  enum class Kind { lock, get, put, accumulate, release, fetch_add };
  enum class Stage { request, data, sum };
  Kind kind = Kind::lock;
  Stage stage = Stage::request;  // of which fire() is the end
  std::shared_ptr<Shared> window{};
  int origin = 0, target = 0;
  Held* held = nullptr;
  Lock lock = Lock::shared;
  std::size_t at = 0;  // of the target's floats, or counters
  std::span<float> to{};
  std::span<const float> from{};
  std::uint64_t value = 0;  // fetch_add: to add
  std::uint64_t* before = nullptr;
  Fiber* fiber = nullptr;  // waiting for the answer
};

/// A worker that waits for a counter of its own.
struct Windows::CounterWait {
  RankPart* part = nullptr;
  std::size_t counter = 0;
  std::uint64_t at_least = 0;
  Fiber* fiber = nullptr;
};

/// One worker's part of a window.
struct Windows::RankPart {
  core::Arena floats;
  std::vector<std::uint64_t> counters;
  std::deque<Id> asking;  // operations
  std::size_t shared = 0;
  bool exclusive = false;
  Time adder_free_at = 0;
  std::vector<Id> waits;  // in the order of their beginning
};

struct Windows::Shared {
  explicit Shared(int workers) : parts(static_cast<std::size_t>(workers)) {}
  std::vector<RankPart> parts;
  RankPart& of(int rank) { return parts[static_cast<std::size_t>(rank)]; }
};

/// One worker's end of a window.
class Windows::Handle : public comm::Window {
 public:
  Handle(Windows& windows, std::shared_ptr<Shared> shared, int rank)
      : windows_(windows), shared_(std::move(shared)), rank_(rank) {}

  std::span<float> memory() override { return shared_->of(rank_).floats.span(); }

  void lock(int target, Lock kind) override {
    if (held_.contains({&fiber(), target})) throw std::logic_error("a worker locks a window twice");
    windows_.stop_if_dead(rank_);
    const Time leaves = windows_.leave();
    const Id id = windows_.operations_.add(operation(Operation::Kind::lock, target));
    windows_.operations_[id].lock = kind;
    windows_.operations_[id].fiber = &fiber();
    windows_.at_target(id, rank_, leaves);
    windows_.context_.engine.block({"a lock on the window of", target});
    windows_.stop_if_dead(rank_);
    held_[{&fiber(), target}].kind = kind;
  }

  void unlock(int target) override {
    const auto found = held_.find({&fiber(), target});
    if (found == held_.end()) throw std::logic_error("a worker unlocks a window that it has not locked");
    Held& held = found->second;
    Engine& engine = windows_.context_.engine;
    engine.settle();
    if (held.under_way > 0) {
      held.waiter = &fiber();
      engine.block({"its transfers with the window of", target});
    }
    engine.pass_until(held.complete_at);
    windows_.stop_if_dead(rank_);
    const Time leaves = windows_.leave();
    const Id id = windows_.operations_.add(operation(Operation::Kind::release, target));
    windows_.operations_[id].lock = held.kind;
    held_.erase(found);
    windows_.at_target(id, rank_, leaves);
  }

  void get(int target, std::size_t at, std::span<float> to) override {
    Operation get = transfer(Operation::Kind::get, target, at, to.size());
    get.to = to;
    const Time leaves = windows_.leave();
    begin(get);
    windows_.context_.traffic_of(rank_).received(to.size_bytes());
    windows_.at_target(windows_.operations_.add(get), rank_, leaves);
  }

  void put(int target, std::size_t at, std::span<const float> from) override {
    send(transfer(Operation::Kind::put, target, at, from.size()), from);
  }

  void accumulate(int target, std::size_t at, std::span<const float> from) override {
    send(transfer(Operation::Kind::accumulate, target, at, from.size()), from);
  }

  std::uint64_t fetch_add(int target, std::size_t counter, std::uint64_t value) override {
    windows_.stop_if_dead(rank_);
    check_counter(target, counter);
    std::uint64_t before = 0;
    const Time leaves = windows_.leave();
    const Id id = windows_.operations_.add(operation(Operation::Kind::fetch_add, target));
    Operation& mine = windows_.operations_[id];
    mine.at = counter;
    mine.value = value;
    mine.before = &before;
    mine.fiber = &fiber();
    windows_.at_target(id, rank_, leaves);
    windows_.context_.engine.block({"a counter in the window of", target});
    windows_.stop_if_dead(rank_);
    return before;
  }

  std::optional<std::uint64_t> await_counter_for(std::size_t counter, std::uint64_t at_least, double limit_s) override {
    windows_.stop_if_dead(rank_);
    check_counter(rank_, counter);
    Engine& engine = windows_.context_.engine;
    RankPart& part = shared_->of(rank_);
    const Time deadline = later(engine.own_time(), limit_s);
    engine.settle();
    if (part.counters[counter] < at_least) {
      const Id id = windows_.waits_.add({&part, counter, at_least, &fiber()});
      part.waits.push_back(id);
      if (deadline != never) windows_.timeouts_.set(deadline, id);
      engine.block({"a counter that the others raise in the window of", rank_});
      if (deadline != never) windows_.timeouts_.clear();
    }
    windows_.stop_if_dead(rank_);
    const std::uint64_t value = part.counters[counter];
    if (value < at_least) return std::nullopt;
    return value;
  }

 private:
  Fiber& fiber() const { return windows_.context_.engine.current(); }

  Operation operation(Operation::Kind kind, int target) const {
    if (target < 0 || target >= static_cast<int>(shared_->parts.size()))
      throw std::logic_error("a window has no such worker");
    Operation made;
    made.kind = kind;
    made.window = shared_;
    made.origin = rank_;
    made.target = target;
    return made;
  }

  Operation transfer(Operation::Kind kind, int target, std::size_t at, std::size_t floats) {
    const auto found = held_.find({&fiber(), target});
    if (found == held_.end()) throw std::logic_error("a transfer with a window that is not locked");
    Operation made = operation(kind, target);
    const std::size_t size = shared_->of(target).floats.size();
    if (at > size || floats > size - at) throw std::logic_error("a transfer past the end of a window");
    made.held = &found->second;
    made.at = at;
    windows_.stop_if_dead(rank_);
    return made;
  }

  void begin(const Operation& begun) { ++begun.held->under_way; }

  void send(Operation sent, std::span<const float> from) {
    sent.from = from;
    sent.stage = Operation::Stage::data;
    windows_.leave();
    begin(sent);
    windows_.context_.traffic_of(rank_).sent(from.size_bytes());
    windows_.context_.network.start(rank_, sent.target, static_cast<std::int64_t>(from.size_bytes()), windows_,
                                    windows_.operations_.add(sent));
  }

  void check_counter(int target, std::size_t counter) const {
    if (target < 0 || target >= static_cast<int>(shared_->parts.size()) || counter >= shared_->of(target).counters.size())
      throw std::logic_error("a window has no such counter");
  }

  Windows& windows_;
  std::shared_ptr<Shared> shared_;
  int rank_;
  std::map<std::pair<Fiber*, int>, Held> held_;  // looked up only; entries stay where they are
};

Windows::Windows(const MessageContext& context, CollectiveInterceptor* interceptor)
    : context_(context),
      interceptor_(interceptor),
      send_overhead_(from_seconds(context.platform.message.send_overhead_s)),
      receive_overhead_(from_seconds(context.platform.message.receive_overhead_s)),
      timeouts_(context.engine, [this](std::uint64_t wait) { give_up(wait); }) {}

Windows::~Windows() = default;

std::unique_ptr<comm::Window> Windows::open(int rank, int channel, backend::Device& device, std::size_t floats,
                                            std::size_t counters) {
  context_.engine.settle();
  if (adder_ == nullptr) {
    adder_ = backend::make_device(device.name());
    if (!context_.platform.faults.empty())
      for (int worker = 0; worker < context_.workers; ++worker)
        deaths_.push_back(Pace(context_.platform, worker, 0).death());
  }
  const std::pair key(channel, opened_[{rank, channel}]++);
  std::shared_ptr<Shared> shared = windows_[key].lock();
  if (shared == nullptr) windows_[key] = shared = std::make_shared<Shared>(context_.workers);
  RankPart& mine = shared->of(rank);
  mine.floats = device.allocate(floats);
  mine.counters.resize(counters);
  return std::make_unique<Handle>(*this, std::move(shared), rank);
}

/// The running fiber pays for a message that leaves now.
Time Windows::leave() {
  context_.engine.pass(send_overhead_);
  context_.engine.settle();
  if (interceptor_ != nullptr) interceptor_->make_way();
  return context_.engine.now();
}

void Windows::stop_if_dead(int rank) {
  if (deaths_.empty() || context_.engine.own_time() < deaths_[static_cast<std::size_t>(rank)]) return;
  context_.engine.settle();
  while (true) context_.engine.block({});
}

bool Windows::answers(int rank) const {
  return deaths_.empty() || context_.engine.now() < deaths_[static_cast<std::size_t>(rank)];
}

/// The next thing that happens to an operation does so a latency after `at`.
void Windows::at_target(Id id, int actor, Time at) {
  const Operation& operation = operations_[id];
  context_.engine.schedule(at + context_.network.latency(operation.origin, operation.target),
                           static_cast<std::uint32_t>(actor), *this, id);
}

void Windows::arrives(std::uint64_t id, Time at) {
  context_.engine.schedule(at, static_cast<std::uint32_t>(operations_[static_cast<Id>(id)].origin), *this, id);
}

void Windows::fire(std::uint64_t argument) {
  const Id id = static_cast<Id>(argument);
  Operation& operation = operations_[id];
  const bool here = operation.kind == Operation::Kind::get && operation.stage == Operation::Stage::data;
  if (!here && !answers(operation.target)) return;  // a dead target never answers
  if (operation.stage == Operation::Stage::request) return request(id, operation);
  arrived(id, operation);
}

/// A control message has reached the target.
void Windows::request(Id id, Operation& operation) {
  RankPart& part = operation.window->of(operation.target);
  const Time back = context_.engine.now() + context_.network.latency(operation.target, operation.origin) + receive_overhead_;
  switch (operation.kind) {
    case Operation::Kind::lock:
      part.asking.push_back(id);
      return grant(operation.window, operation.target);
    case Operation::Kind::release: {
      const std::shared_ptr<Shared> window = std::move(operation.window);
      const int target = operation.target;
      if (operation.lock == Lock::exclusive)
        part.exclusive = false;
      else
        --part.shared;
      operations_.remove(id);
      return grant(window, target);
    }
    case Operation::Kind::fetch_add:
      *operation.before = part.counters[operation.at];
      context_.engine.wake_at(*operation.fiber, back);
      count(operation);
      operation.window = nullptr;
      return operations_.remove(id);
    default: {
      const auto from = part.floats.span().subspan(operation.at, operation.to.size());
      if (!operation.to.empty() && !backend::is_meta_memory(operation.to.data()))
        std::memcpy(operation.to.data(), from.data(), from.size_bytes());
      operation.stage = Operation::Stage::data;
      const int origin = operation.origin, target = operation.target;
      context_.network.start(target, origin, static_cast<std::int64_t>(from.size_bytes()), *this, id);
    }
  }
}

/// Data have reached their destination, or have been added there.
void Windows::arrived(Id id, Operation& operation) {
  Engine& engine = context_.engine;
  const Time now = engine.now();
  const Time word = context_.network.latency(operation.target, operation.origin);
  if (operation.kind == Operation::Kind::get) return complete(id, now);
  RankPart& part = operation.window->of(operation.target);
  const auto to = part.floats.span().subspan(operation.at, operation.from.size());
  const bool has_content = !to.empty() && !backend::is_meta_memory(to.data());
  if (operation.kind == Operation::Kind::put) {
    if (has_content) std::memcpy(to.data(), operation.from.data(), to.size_bytes());
    return complete(id, now + word);
  }
  if (operation.stage == Operation::Stage::sum) {
    if (has_content) adder_->run(backend::Add{operation.from, to});
    return complete(id, now + word);
  }
  operation.stage = Operation::Stage::sum;
  engine.schedule(add(operation), static_cast<std::uint32_t>(operation.origin), *this, id);
}

/// Returns when the addition of the data that just arrived ends.
Time Windows::add(const Operation& operation) {
  constexpr int passes = 3;  // reads both, writes one
  const Time now = context_.engine.now();
  if (context_.platform.host.reduces)
    return context_.network.pass_host_memory(operation.target,
                                             passes * static_cast<std::int64_t>(operation.from.size_bytes()));
  Time& free_at = operation.window->of(operation.target).adder_free_at;
  return free_at = std::max(now, free_at) + context_.times.of_sum(static_cast<std::uint32_t>(operation.from.size()));
}

void Windows::complete(Id id, Time at) {
  Held& held = *operations_[id].held;
  operations_[id].window = nullptr;
  operations_.remove(id);
  held.complete_at = std::max(held.complete_at, at);
  if (--held.under_way == 0 && held.waiter != nullptr)
    context_.engine.wake_at(*std::exchange(held.waiter, nullptr), held.complete_at);
}

/// Grants locks in order of request, as long as they do not conflict with locks held.
void Windows::grant(const std::shared_ptr<Shared>& window, int target) {
  RankPart& part = window->of(target);
  while (!part.asking.empty() && !part.exclusive) {
    Operation& next = operations_[part.asking.front()];
    if (next.lock == Lock::exclusive && part.shared > 0) return;
    if (next.lock == Lock::exclusive)
      part.exclusive = true;
    else
      ++part.shared;
    context_.engine.wake_at(*next.fiber,
                            context_.engine.now() + context_.network.latency(target, next.origin) + receive_overhead_);
    next.window = nullptr;
    operations_.remove(part.asking.front());
    part.asking.pop_front();
  }
}

/// Adds to a counter, and wakes the fibers waiting for it.
void Windows::count(const Operation& operation) {
  RankPart& part = operation.window->of(operation.target);
  part.counters[operation.at] += operation.value;
  const auto enough = [&](Id id) {
    const CounterWait& wait = waits_[id];
    if (wait.counter != operation.at || part.counters[operation.at] < wait.at_least) return false;
    context_.engine.wake(*wait.fiber);
    waits_.remove(id);
    return true;
  };
  std::erase_if(part.waits, enough);
}

void Windows::give_up(std::uint64_t argument) {
  const Id id = static_cast<Id>(argument);
  CounterWait& wait = waits_[id];
  std::erase(wait.part->waits, id);
  context_.engine.wake(*wait.fiber);
  waits_.remove(id);
}

}  // namespace paragrad::sim
