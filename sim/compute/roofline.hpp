#pragma once

#include "backend/work_meter.hpp"
#include "sim/engine/time.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// Time of counted work on a device: launch time per kernel, plus the slower of arithmetic and memory for each kind of
/// kernel (Williams, Waterman and Patterson, CACM 52(4), 2009). Depends on the counts only.
///
/// On a platform with measured times it is the time that the devices charged, call by call (MeasuredTimes).
class Roofline {
 public:
  explicit Roofline(const Platform::Device& device)
      : launch_(from_seconds(device.launch_s)),
        seconds_per_flop_(1 / (device.flops_per_s * device.gemm_efficiency)),
        seconds_per_byte_(1 / (device.bytes_per_s * device.memory_efficiency)),
        charged_(!device.kernels.empty()) {}

  Time duration(const backend::WorkMeter& work) const;

 private:
  Time launch_;
  double seconds_per_flop_;
  double seconds_per_byte_;
  bool charged_;
};

}  // namespace paragrad::sim
