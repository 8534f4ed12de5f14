#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "comm/mpi/mpi_session.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm {
namespace {

/// Variables that a launcher sets in each of the processes that it starts together, whether or not they can find each other.
struct Launcher {
  const char* name;
  const char* count;  ///< of the processes; "": it has none
  const char* rank;
};

auto launchers() {
  return std::array{
      Launcher{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
      Launcher{"flux run", "FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
      Launcher{"jsrun", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"},
      Launcher{"PALS", "PALS_SIZE", "PALS_RANKID"},
      Launcher{"aprun", "", "ALPS_APP_PE"},
      Launcher{"mpirun_rsh", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
      Launcher{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
      Launcher{"mpiexec", "PMI_SIZE", "PMI_RANK"},
      Launcher{"a launcher with PMIx", "", "PMIX_RANK"},
  };
}

/// 0 if it is not set, or no number.
int number_in(const char* variable) {
  int number = 0;
  if (const char* text = std::getenv(variable)) {
    const std::string_view digits(text);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  return number;
}

/// Whether it has started other processes with this one.
bool has_started_several(const Launcher& launcher) { return number_in(launcher.count) > 1 || number_in(launcher.rank) > 0; }

}  // namespace

bool under_mpiexec() {
  // MPICH and Intel MPI (Hydra) and srun's PMI; Open MPI; anything that speaks PMIx.
  constexpr std::array variables{"PMI_RANK", "PMI_SIZE", "PMI_PORT", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"};
  return std::any_of(variables.begin(), variables.end(), [](const char* name) { return std::getenv(name) != nullptr; });
}

// The innermost launcher counts: mpiexec may have been started by one task of a step of several.
int announced_ranks() {
  for (const char* name : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"})
    if (const int ranks = number_in(name); ranks > 0) return ranks;
  if (std::getenv("PMIX_RANK") == nullptr) return 0;
  for (const Launcher& launcher : launchers())  // PMIx has no variable for it
    if (const int ranks = number_in(launcher.count); ranks > 0) return ranks;
  return 0;
}

bool follows_others() { return number_in("PMIX_RANK") > 0; }

void let_first_rank_speak() {
  constexpr std::chrono::seconds patience(1);
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
    if (number_in(name) > 0) return std::this_thread::sleep_for(patience);
}

void require_no_lonely_task() {
  for (const Launcher& launcher : launchers()) {
    if (!has_started_several(launcher)) continue;
    const int count = number_in(launcher.count);
    std::string variables = launcher.rank;
    if (count > 0) variables = core::format("{} and {}", launcher.count, variables);
    throw core::ConfigError(core::format(
        "{} has started {} processes that cannot find each other, so each would do all the work alone: start them with "
        "mpiexec, or with srun's PMI2 for MPICH and its PMIx for Open MPI; if these are separate runs, unset {}",
        launcher.name, count > 1 ? core::format("{}", count) : "several", variables));
  }
}

}  // namespace paragrad::comm
