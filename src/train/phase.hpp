#pragma once

#include "comm/worker.hpp"

namespace paragrad::train {

/// The time until the end of the scope: added to a sum, and told to the worker's recorder where it has one.
class Phase {
 public:
  Phase(comm::Worker& worker, core::Activity activity, double& sum_s)
      : worker_(worker), sum_s_(sum_s), begin_s_(worker.comm().now_s()) {
    if (worker_.recorder() != nullptr) worker_.recorder()->begin(activity, begin_s_);
  }
  ~Phase() {
    const double end_s = worker_.comm().now_s();
    sum_s_ += end_s - begin_s_;
    if (worker_.recorder() != nullptr) worker_.recorder()->end(end_s);
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  comm::Worker& worker_;
  double& sum_s_;
  double begin_s_;
};

}  // namespace paragrad::train
