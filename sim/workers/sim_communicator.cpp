#include "sim/workers/sim_communicator.hpp"

#include <algorithm>
#include <cmath>
#include <exception>

#include "backend/kernel_list.hpp"
#include "backend/kernels/add.hpp"
#include "comm/allreduce.hpp"
#include "comm/collectives/nccl.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::sim {
namespace {

/// Throws ConfigError unless NCCL's model can say how long its routines take.
void require_nccl(const Platform& platform, int workers) {
  const auto refuse = [&](const std::string& why) {
    throw core::ConfigError(core::format("platform '{}' {}", platform.name, why));
  };
  if (!platform.nccl) refuse("has no section [nccl], which collective 'nccl' needs");
  if (workers > platform.workers())
    refuse(core::format("has {} devices, and collective 'nccl' needs one for each of the {} workers", platform.workers(),
                        workers));
  const bool has_limits = platform.taper > 1 || platform.spine_bytes_per_s > 0;
  if (!platform.faults.empty() || !platform.size_classes.empty() || platform.host.staged || has_limits)
    refuse(
        "has faults, size classes, staged messages or limits between switches, which collective 'nccl' does not know: "
        "choose another");
}

}  // namespace

comm::Request SimCommunicator::start_send(int to, int tag, std::span<const std::byte> data) {
  stop_if_dead();
  traffic_meter()->sent(data.size());
  return cluster_.transport.start_send(rank(), to, first_tag_ + tag, data);
}

comm::Request SimCommunicator::start_receive(int from, int tag, std::span<std::byte> data) {
  stop_if_dead();
  return cluster_.transport.start_receive(rank(), from, first_tag_ + tag, data);
}

comm::Received SimCommunicator::wait(comm::Request request) {
  const comm::Received received = cluster_.transport.wait(request);
  finish_what_is_received();
  stop_if_dead();
  count(received);
  return received;
}

std::optional<comm::Received> SimCommunicator::wait_for(comm::Request request, double limit_s) {
  const auto received = cluster_.transport.wait_for(request, limit_s);
  finish_what_is_received();
  stop_if_dead();
  if (received) count(*received);
  return received;
}

void SimCommunicator::count(const comm::Received& received) {
  if (received.source != comm::any_source) traffic_meter()->received(received.bytes);
}

bool SimCommunicator::is_gone(int peer) {
  return !cluster_.platform.faults.empty() && Pace(cluster_.platform, peer, 0).death() <= cluster_.engine.own_time();
}

// A program that polls the clock until some time has passed must terminate: so repeated readings cost simulated time.
double SimCommunicator::now_s() {
  constexpr int free_readings = 1000;
  constexpr Time reading = 1'000'000;
  const Time now = cluster_.engine.own_time();
  readings_ = now == last_reading_ ? readings_ + 1 : 0;
  if (readings_ > free_readings) cluster_.engine.pass(reading);
  last_reading_ = cluster_.engine.own_time();
  return to_seconds(last_reading_);
}

void SimCommunicator::add(std::span<const float> from, std::span<float> to) {
  cluster_.carrier.add(from, to);
  finish_what_is_received();
  if (cluster_.platform.host.reduces) {
    constexpr int passes = 3;  // reads both, writes one
    cluster_.engine.settle();
    cluster_.engine.pass_until(
        cluster_.network->pass_host_memory(rank(), passes * static_cast<std::int64_t>(to.size_bytes())));
  } else {
    const DeviceQueues::Hold hold(cluster_.device_queues, rank());
    spend(pace_.of_reduction(cluster_.engine.own_time(), cluster_.times.of_sum(to.size())));
  }
  stop_if_dead();
}

void SimCommunicator::library_routine(comm::Library library, comm::Operation operation, std::span<const float> send,
                                      std::span<float> data) {
  if (library == comm::Library::transport)
    throw core::ConfigError("collective 'native' is MPI's own and not available to emulated workers: choose another");
  if (device().computes())
    throw core::ConfigError(
        "collective 'nccl' is NCCL's own: among emulated workers it takes time and computes nothing, so choose another, or "
        "a timing run (`device` meta)");
  require_nccl(cluster_.platform, size());
  const bool all_alike = operation != comm::Operation::all_to_all;  // elsewhere some may have nothing
  if (size() == 1 || (data.empty() && all_alike)) return;
  stop_if_dead();
  const std::size_t longest = std::max(send.size_bytes(), data.size_bytes());
  const auto key = std::pair(operation, longest);
  auto known = cluster_.nccl_choices.find(key);
  if (known == cluster_.nccl_choices.end()) {
    const comm::Surroundings where = surroundings().value();  // as there is a device for each worker
    known =
        cluster_.nccl_choices.emplace(key, comm::nccl_choice(operation, size(), static_cast<double>(longest), where)).first;
  }
  const comm::NcclChoice& choice = known->second;
  const auto moved = [&](std::size_t bytes) {
    return static_cast<std::uint64_t>(std::llround(choice.sent_share * static_cast<double>(bytes)));
  };
  traffic_meter()->sent(moved(send.size_bytes()));
  traffic_meter()->received(moved(data.size_bytes()));
  cluster_.meetings[static_cast<std::size_t>(first_tag_ / tags_per_channel)].enter(from_seconds(choice.time_s));
  stop_if_dead();
}

std::unique_ptr<comm::Window> SimCommunicator::open_window(std::size_t floats, std::size_t counters) {
  if (device().computes()) comm::expect_reachable_windows(device());
  stop_if_dead();
  cluster_.forbid_shortcuts();
  auto window = cluster_.windows.open(rank(), first_tag_ / tags_per_channel, device(), floats, counters);
  comm::barrier(*this);
  return window;
}

void SimCommunicator::run_collective(comm::Communicator& comm, const comm::Collective& collective, std::span<float> data) {
  if (first_tag_ == 0 && collectives_ == 0 && cluster_.interceptor && cluster_.interceptor->join(*this, collective, data))
    return;
  ++collectives_;
  cluster_.carrier.begin_collective();
  try {
    collective(comm, data);
  } catch (const std::exception&) {  // not fibers::Fiber::Abandoned, which unwinds this fiber at the end of the simulation
    --collectives_;
    cluster_.carrier.end_collective();
    cluster_.carrier.finish();  // while the arrays of this worker, which has failed, are still there
    throw;
  }
  --collectives_;
  cluster_.carrier.end_collective();
  finish_what_is_received();
}

/// Within a collective, copies and sums may be unfinished until its end; outside one, the caller may read what it has
/// received.
void SimCommunicator::finish_what_is_received() {
  if (collectives_ == 0) cluster_.carrier.finish();
}

void SimCommunicator::compute(const backend::WorkMeter& expected, const std::function<void()>& task, double scale) {
  if (!device().computes()) return time_here(task, scale);
  const auto whole_task = [&] {
    task();
    device().finish();
  };
  stop_if_dead();
  {
    const DeviceQueues::Hold hold(cluster_.device_queues, rank());
    const backend::WorkMeter before = device().meter();
    const Time start = cluster_.engine.own_time();
    const std::uint64_t number = computations_++;
    cluster_.engine.compute(pace_.of_computation(start, time_of(expected, scale), number), whole_task,
                            [&] { return pace_.of_computation(start, time_since(before, scale), number); });
  }
  stop_if_dead();
}

void SimCommunicator::run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) {
  if (!device().computes()) return time_here([&] { kernels(device()); });
  cluster_.carrier.finish();  // in a collective they read what has been received
  backend::KernelList list(device());
  kernels(list);
  if (list.has_begun() || !list.is_worth_a_thread())
    run_here([&] { list.execute(); }, 1, list.meter());
  else
    compute(list.meter(), [&] { list.execute(); });
}

/// run_here for a device that does not compute: the task only adds up what it would cost, but uses the worker's own stack.
void SimCommunicator::time_here(const std::function<void()>& task, double scale) {
  run_here(task, scale);
  cluster_.engine.release_unused_stack();
}

void SimCommunicator::run_here(const std::function<void()>& task, double scale,
                               const std::optional<backend::WorkMeter>& work) {
  {
    const DeviceQueues::Hold hold(cluster_.device_queues, rank());
    const backend::WorkMeter before = device().meter();
    task();
    device().finish();
    const Time time = work ? time_of(*work, scale) : time_since(before, scale);
    spend(pace_.of_computation(cluster_.engine.own_time(), time, computations_++));
  }
  stop_if_dead();
}

void SimCommunicator::stop_if_dead() {
  if (cluster_.engine.own_time() < pace_.death()) return;
  cluster_.engine.settle();
  while (true) cluster_.engine.block({});
}

/// A shared device must be released at the right time; otherwise no other worker is affected.
void SimCommunicator::spend(Time time) {
  if (cluster_.device_queues.needed())
    cluster_.engine.sleep(time);
  else
    cluster_.engine.pass(time);
}

Time SimCommunicator::time_since(const backend::WorkMeter& before, double scale) {
  backend::WorkMeter work = device().meter();
  work -= before;
  return time_of(work, scale);
}

Time SimCommunicator::time_of(const backend::WorkMeter& work, double scale) const {
  return collectives_ > 0 ? cluster_.times.in_collective(work) : cluster_.times.without_noise(work, scale);
}

}  // namespace paragrad::sim
