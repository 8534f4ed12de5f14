#include "hosting/hosted_communicator.hpp"

#include <limits>

#include "backend/kernel_list.hpp"
#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::hosting {

namespace {

/// If the processes fill the nodes in their order, so do their workers.
int workers_per_node(int workers, const comm::Communicator* processes) {
  if (processes == nullptr || processes->workers_per_node() == processes->size()) return workers;
  return workers % processes->size() == 0 ? workers / processes->size() * processes->workers_per_node() : 0;
}

}  // namespace

Host::Host(int workers_, const HostingOptions& options)
    : workers(workers_),
      workers_per_node(options.workers_per_node > 0 ? options.workers_per_node
                                                    : hosting::workers_per_node(workers_, options.processes)),
      device(options.device),
      carrier(backend::make_device(options.device)),
      messages(scheduler, *carrier, workers_, options.processes),
      scheduler(fibers_per_worker * static_cast<std::size_t>(messages.here()), options.threads) {
  if (messages.here() < workers) scheduler.set_poll([this] { messages.poll(); }, options.stall_s);
}

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

void HostedCommunicator::library_routine(comm::Library library, comm::Operation, std::span<const float>, std::span<float>) {
  const bool is_native = library == comm::Library::transport;
  throw core::ConfigError(
      core::format("collective '{}' is {}, which knows processes only: choose another, or start each worker "
                   "with mpiexec",
                   is_native ? "native" : "nccl", is_native ? "MPI's own" : "NCCL's own"));
}

std::unique_ptr<comm::Window> HostedCommunicator::open_window(std::size_t floats, std::size_t counters) {
  comm::expect_reachable_windows(device());
  if (host_.messages.here() < size())
    throw core::ConfigError(
        "one-sided windows need one worker per rank, or all workers in one process: choose the strategy's two-sided "
        "messages");
  waits_->stop_if_abandoned();
  auto memory = host_.windows.open(size(), rank(), first_tag_);
  memory->of(rank()).floats = device().allocate(floats);
  memory->of(rank()).counters.resize(counters);
  auto window = std::make_unique<HostedWindow>(std::move(memory), rank(), waits_, traffic_meter());
  comm::barrier(*this);
  return window;
}

}  // namespace paragrad::hosting
