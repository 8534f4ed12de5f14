#include "dist/data_parallel.hpp"

namespace paragrad::dist {

void DataParallel::gradient_ready(comm::Worker& worker, Replica& replica, core::Range range) {
  if (worker.size() == 1) Strategy::gradient_ready(worker, replica, range);
}

void DataParallel::step(comm::Worker& worker, Replica& replica) {
  if (worker.size() == 1) return;
  (*allreduce_)(worker.comm(), replica.optimiser.gradients());
  worker.run_kernels([&](backend::Device& device) {
    replica.optimiser.update(device, {0, replica.parameters.size()}, replica.step, replica.parameters);
  });
}

}  // namespace paragrad::dist
