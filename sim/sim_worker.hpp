#pragma once

#include "comm/worker.hpp"
#include "sim/sim_communicator.hpp"

namespace paragrad::sim {

/// An emulated worker.
class SimWorker : public comm::Worker {
 public:
  explicit SimWorker(SimCommunicator& communicator) : Worker(communicator), communicator_(communicator) {}

  void compute(const backend::WorkMeter& expected, const std::function<void()>& task) override {
    if (computing_) return task();
    communicator_.compute(expected, [&] {
      const Inside inside(computing_);
      task();
    });
  }

  void run_kernels(const std::function<void(backend::Device&)>& kernels) override {
    if (computing_) return kernels(device());
    communicator_.run_kernels(kernels);
  }

 private:
  struct Inside {
    explicit Inside(bool& flag) : flag_(flag) { flag_ = true; }
    ~Inside() { flag_ = false; }
    bool& flag_;
  };

  SimCommunicator& communicator_;
  bool computing_ = false;
};

}  // namespace paragrad::sim
