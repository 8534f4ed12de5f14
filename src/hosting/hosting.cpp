#include "hosting/hosting.hpp"

#include <memory>
#include <vector>

#include "hosting/hosted_worker.hpp"

namespace paragrad::hosting {

void run(int workers, const HostingOptions& options, const std::function<void(comm::Worker&)>& body) {
  std::vector<std::unique_ptr<backend::Device>> devices;  // outlives the host, whose end unwinds the workers' stacks
  for (int rank = 0; rank < workers; ++rank) devices.push_back(backend::make_device(options.device));
  Host host(workers, options.threads, options.device, options.workers_per_node);
  for (int rank = 0; rank < workers; ++rank)
    host.scheduler.spawn(rank, [&host, &body, &devices, rank] {
      HostedCommunicator communicator(host, rank, *devices[static_cast<std::size_t>(rank)]);
      HostedWorker worker(communicator);
      body(worker);
      worker.finish();
    });
  try {
    host.scheduler.run();
  } catch (const comm::Failure&) {
    if (host.untold) std::rethrow_exception(host.untold);  // the cause of a wait that failed
    throw;
  } catch (const std::logic_error&) {
    if (host.untold) std::rethrow_exception(host.untold);  // the cause of a wait without end
    throw;
  }
}

}  // namespace paragrad::hosting
