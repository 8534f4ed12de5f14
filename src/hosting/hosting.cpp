#include "hosting/hosting.hpp"

#include <memory>
#include <vector>

#include "hosting/hosted_worker.hpp"

namespace paragrad::hosting {

void run(int workers, const HostingOptions& options, const std::function<void(comm::Worker&)>& body) {
  std::vector<std::unique_ptr<backend::Device>> devices;  // outlives the host, whose end unwinds the workers' stacks
  Host host(workers, options);
  const int first = host.messages.first();
  for (int i = 0; i < host.messages.here(); ++i) devices.push_back(backend::make_device(options.device));
  for (int i = 0; i < host.messages.here(); ++i)
    host.scheduler.spawn(first + i, [&host, &body, rank = first + i, &device = *devices[static_cast<std::size_t>(i)]] {
      HostedCommunicator communicator(host, rank, device);
      HostedWorker worker(communicator);
      body(worker);
      worker.finish();
    });
  try {
    host.scheduler.run();
    host.messages.close(options.stall_s);
  } catch (const comm::Failure&) {
    if (host.untold) std::rethrow_exception(host.untold);  // the cause of a wait that failed
    throw;
  } catch (const std::logic_error&) {
    if (host.untold) std::rethrow_exception(host.untold);  // the cause of a wait without end
    throw;
  }
}

}  // namespace paragrad::hosting
