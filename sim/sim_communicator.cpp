#include "sim/sim_communicator.hpp"

#include "core/errors.hpp"

namespace paragrad::sim {
namespace {

// Handing a task to another thread takes some microseconds, as long as streaming through this much memory.
constexpr std::uint64_t worth_a_thread_bytes = 1024 * 1024;

}  // namespace

comm::Request SimCommunicator::start_send(int to, int tag, std::span<const std::byte> data) {
  return world_.transport.start_send(rank_, to, first_tag_ + tag, data);
}

comm::Request SimCommunicator::start_receive(int from, int tag, std::span<std::byte> data) {
  return world_.transport.start_receive(rank_, from, first_tag_ + tag, data);
}

comm::Received SimCommunicator::wait(comm::Request request) { return world_.transport.wait(request); }

double SimCommunicator::now_s() { return to_seconds(world_.engine.now()); }

void SimCommunicator::add(std::span<const float> from, std::span<float> to) {
  run_here([&](backend::Device& device) { device.add(from, to); });
}

void SimCommunicator::library_allreduce(std::span<float>) {
  throw core::ConfigError("the collective 'native' is MPI's own and does not exist among emulated workers: choose another");
}

void SimCommunicator::compute(const backend::WorkMeter& expected, const std::function<void()>& task) {
  const backend::WorkMeter before = device().meter();
  world_.engine.compute(world_.roofline.duration(expected), task, [&] { return time_since(before); });
}

void SimCommunicator::run_kernels(const std::function<void(backend::Device&)>& kernels) {
  const backend::WorkMeter before = world_.meta->meter();
  kernels(*world_.meta);
  backend::WorkMeter cost = world_.meta->meter();
  cost -= before;
  if (cost.of(backend::KernelKind::streaming).bytes < worth_a_thread_bytes && cost.of(backend::KernelKind::gemm).calls == 0)
    run_here(kernels);
  else
    compute(cost, [&] { kernels(device()); });
}

void SimCommunicator::run_here(const std::function<void(backend::Device&)>& kernels) {
  const backend::WorkMeter before = device().meter();
  kernels(device());
  world_.engine.sleep(time_since(before));
}

Time SimCommunicator::time_since(const backend::WorkMeter& before) {
  backend::WorkMeter work = device().meter();
  work -= before;
  return world_.roofline.duration(work);
}

}  // namespace paragrad::sim
