#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "backend/work_meter.hpp"
#include "core/format.hpp"

/// Checks and work counts shared by the files that implement the device's calls.
namespace paragrad::backend {

inline void expect_size(const char* kernel, const char* argument, std::size_t size, std::size_t wanted) {
  if (size != wanted)
    throw std::logic_error(core::format("{}: {} has {} elements where {} are wanted", kernel, argument, size, wanted));
}

/// A product with `rows` x `inner` x `columns` multiplications.
inline WorkMeter product(std::uint64_t rows, std::uint64_t inner, std::uint64_t columns) {
  WorkMeter work;
  work.add(KernelKind::gemm, 2 * rows * inner * columns, sizeof(float) * (rows * inner + inner * columns + rows * columns));
  return work;
}

/// `flops` operations on each of `elements`, `accesses` of which are read or written.
inline WorkMeter streaming(std::uint64_t elements, std::uint64_t flops, std::uint64_t accesses) {
  WorkMeter work;
  work.add(KernelKind::streaming, flops * elements, sizeof(float) * accesses * elements);
  return work;
}

}  // namespace paragrad::backend
