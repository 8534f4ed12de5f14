#include "hosting/hosted_worker.hpp"

#include <stdexcept>
#include <utility>

#include "core/scoped_flag.hpp"

namespace paragrad::hosting {
struct HostedWorker::Lane::Place {
  Place(Host& host, int rank, std::shared_ptr<comm::TrafficMeter> traffic)
      : device(backend::make_device(host.device)), communicator(host, rank, *device, 1, std::move(traffic)) {}

  std::unique_ptr<backend::Device> device;
  HostedCommunicator communicator;
};

HostedWorker::Lane::Lane(HostedCommunicator& communicator, const char* purpose, std::shared_ptr<comm::TrafficMeter> traffic)
    : host(communicator.host()),
      rank(communicator.rank()),
      traffic_meter(std::move(traffic)),
      fiber(
          host.scheduler, {purpose, rank},
          [&scheduler = communicator.host().scheduler, worker = communicator.rank()](auto body) {
            scheduler.spawn(worker, std::move(body));
          },
          host.untold) {}

void HostedWorker::Lane::launch(Task task) {
  if (place == nullptr) place = std::make_shared<Place>(host, rank, traffic_meter);
  fiber.launch([its = place, task = std::move(task)] { task(its->communicator); });
}

/// The memory of a running task is about to go: its waits fail, and this returns when it has ended.
void HostedWorker::Lane::abandon() noexcept {
  fiber.abandon();
  if (place == nullptr) return;
  place->communicator.abandon();
  if (host.scheduler.abandoning()) return;
  try {
    while (fiber.busy()) host.scheduler.block_for({}, 0);
  } catch (const fibers::Fiber::Abandoned&) {  // another's error came first; this fiber is being unwound already
  }
}

HostedWorker::HostedWorker(HostedCommunicator& communicator)
    : Worker(communicator, true),
      communicator_(communicator),
      tasks_(communicator, "the communication tasks of", communicator.traffic_meter()),
      service_(communicator, "the service of", std::make_shared<comm::TrafficMeter>()) {}

void HostedWorker::compute(const backend::WorkMeter&, const std::function<void()>& task) {
  if (computing_) return task();
  communicator_.compute([&] {
    const core::ScopedFlag inside(computing_);
    task();
  });
}

void HostedWorker::run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) {
  if (computing_) return kernels(device());
  communicator_.run_kernels(kernels);
}

void HostedWorker::launch(Task task) {
  if (computing_) throw std::logic_error("a task was launched from within a computation");
  tasks_.launch(std::move(task));
}

void HostedWorker::serve(Task task) {
  if (computing_) throw std::logic_error("a service was begun from within a computation");
  if (service_.fiber.occupied()) throw std::logic_error("a worker has one service at a time");
  service_.launch(std::move(task));
}

void HostedWorker::abandon_tasks() noexcept {
  communicator_.host().messages.forget(rank());
  tasks_.abandon();
  service_.abandon();
}

void HostedWorker::finish() {
  tasks_.fiber.finish();
  service_.fiber.finish();
}

}  // namespace paragrad::hosting
