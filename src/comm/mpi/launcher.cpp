#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "comm/mpi/mpi_session.hpp"

namespace paragrad::comm {

bool under_mpiexec() {
  // MPICH and Intel MPI (Hydra) and srun's PMI; Open MPI; anything that speaks PMIx.
  constexpr std::array variables{"PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"};
  return std::any_of(variables.begin(), variables.end(), [](const char* name) { return std::getenv(name) != nullptr; });
}

int announced_ranks() {
  int ranks = 0;
  std::array variables{"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", ""};
  if (std::getenv("PMIX_RANK") != nullptr) variables.back() = "SLURM_STEP_NUM_TASKS";  // PMIx has no variable for it
  for (const char* name : variables)
    if (const char* text = std::getenv(name); text != nullptr && ranks == 0) {
      const std::string_view digits(text);
      std::from_chars(digits.data(), digits.data() + digits.size(), ranks);
    }
  return ranks;
}

}  // namespace paragrad::comm
