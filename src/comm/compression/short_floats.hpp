#pragma once

#include <memory>
#include <string>

#include "backend/quantiser.hpp"
#include "comm/compression/entry.hpp"

namespace paragrad::comm::compression {

/// Gradients in 16-bit floating point that any allreduce sums: half the bytes through the same messages, and every addition
/// rounded to 16 bits, as NCCL and MPI add them. Each worker may keep what its own rounding leaves out.
///
/// Bytes     those of the allreduce for half of the array.
/// Order     the allreduce's.
/// In the simulator every message passes (no shortcuts), and sums are the device's work even where hosts add.
/// code: fp16 or bf16.
std::unique_ptr<GradientSum> sum_in_short_floats(backend::Code code, const std::string& collective,
                                                 const LossyOptions& options);

}  // namespace paragrad::comm::compression
