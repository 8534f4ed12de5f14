#pragma once

#include <string>

namespace paragrad::comm {

/// Throws Failure("worker 1: <doing>: <MPI's text for code>").
[[noreturn]] void throw_mpi_failure(int rank, const std::string& doing, int code);

}  // namespace paragrad::comm
