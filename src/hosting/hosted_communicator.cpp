#include "hosting/hosted_communicator.hpp"

#include <limits>

#include "backend/kernel_list.hpp"
#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::hosting {

Host::Host(int workers_, int threads, const std::string& device_, int workers_per_node_)
    : workers(workers_),
      workers_per_node(workers_per_node_ > 0 ? workers_per_node_ : workers_),
      device(device_),
      carrier(backend::make_device(device_)),
      messages(scheduler, *carrier, workers_),
      scheduler(fibers_per_worker * static_cast<std::size_t>(workers_), threads) {}

HostedCommunicator::HostedCommunicator(Host& host, int rank, backend::Device& device, int channel,
                                       std::shared_ptr<comm::TrafficMeter> traffic)
    : Communicator(device, rank, host.workers, std::move(traffic)),
      host_(host),
      first_tag_(channel * tags_per_channel),
      waits_(std::make_shared<Waits>(host.scheduler)) {
  set_workers_per_node(host.workers_per_node);
}

comm::Request HostedCommunicator::start_send(int to, int tag, std::span<const std::byte> data) {
  waits_->stop_if_abandoned();
  traffic_meter()->sent(data.size());
  return host_.messages.start_send(rank(), to, first_tag_ + tag, data);
}

comm::Request HostedCommunicator::start_receive(int from, int tag, std::span<std::byte> data) {
  waits_->stop_if_abandoned();
  return host_.messages.start_receive(rank(), from, first_tag_ + tag, data);
}

comm::Received HostedCommunicator::wait(comm::Request request) {
  return *wait_for(request, std::numeric_limits<double>::infinity());
}

std::optional<comm::Received> HostedCommunicator::wait_for(comm::Request request, double limit_s) {
  const auto received = host_.messages.wait_for(request, limit_s, *waits_);
  if (received && received->source != comm::any_source) traffic_meter()->received(received->bytes);
  return received;
}

void HostedCommunicator::run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) {
  backend::KernelList list(device());
  kernels(list);
  const auto execute = [&] {
    list.execute();
    device().finish();
  };
  if (list.has_begun() || !list.is_worth_a_thread())
    execute();
  else
    host_.scheduler.compute(execute);
}

void HostedCommunicator::compute(const std::function<void()>& task) {
  host_.scheduler.compute([&] {
    task();
    device().finish();
  });
}

void HostedCommunicator::library_allreduce(comm::Library library, std::span<float>) {
  const bool is_native = library == comm::Library::transport;
  throw core::ConfigError(
      core::format("collective '{}' is {}, which knows processes only: choose another, or start each worker "
                   "with mpiexec",
                   is_native ? "native" : "nccl", is_native ? "MPI's own" : "NCCL's own"));
}

std::unique_ptr<comm::Window> HostedCommunicator::open_window(std::size_t floats, std::size_t counters) {
  comm::expect_reachable_windows(device());
  waits_->stop_if_abandoned();
  auto memory = host_.windows.open(size(), rank(), first_tag_);
  memory->of(rank()).floats = device().allocate(floats);
  memory->of(rank()).counters.resize(counters);
  auto window = std::make_unique<HostedWindow>(std::move(memory), rank(), waits_, traffic_meter());
  comm::barrier(*this);
  return window;
}

}  // namespace paragrad::hosting
