#pragma once

#include "comm/worker.hpp"

namespace paragrad::comm {

/// A worker in real time (an MPI rank, or the only one): computing is just running the task, the clock goes on by itself.
class RealWorker : public Worker {
 public:
  using Worker::Worker;
  void compute(const backend::WorkMeter&, const std::function<void()>& task) override { task(); }
  void run_kernels(const std::function<void(backend::Device&)>& kernels) override { kernels(device()); }
};

}  // namespace paragrad::comm
