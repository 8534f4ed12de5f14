#include "dist/data_parallel.hpp"

namespace paragrad::dist {

void DataParallel::step(comm::Worker& worker, Replica& replica) {
  (*allreduce_)(worker.comm(), replica.optimiser.gradients());
  worker.run_kernels([&](backend::Device& device) {
    replica.optimiser.update(device, {0, replica.parameters.size()}, replica.step, replica.parameters);
  });
}

}  // namespace paragrad::dist
