#include <algorithm>
#include <array>
#include <cstdlib>

#include "comm/mpi/mpi_session.hpp"

namespace paragrad::comm {

bool under_mpiexec() {
  // MPICH and Intel MPI (Hydra) and srun's PMI; Open MPI; anything that speaks PMIx.
  constexpr std::array variables{"PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"};
  return std::any_of(variables.begin(), variables.end(), [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace paragrad::comm
