#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace paragrad::search {

/// A search as a Slurm job array. Its task K executes part K of the search.
struct JobArray {
  std::string name;
  std::string working_folder;        ///< in which the command is executed
  std::string folder;                ///< of the search; its runs' folders are in it
  std::vector<std::string> command;  ///< which executes a part; its number is added as the last word
  std::vector<std::string> runs;     ///< names; part K has runs K, K + tasks, K + 2 tasks, …
  std::size_t tasks = 1;
  int ranks = 1;          ///< MPI ranks of a task
  int cores_of_rank = 1;  ///< without MPI: of a task
};

/// The file for sbatch. A task that is preempted or loses its node is started again by Slurm, one that approaches its time
/// limit returns to the queue by itself; its runs then resume from their last checkpoints. A task that has saved nothing by
/// its time limit fails.
std::string job_array_file(const JobArray& array);

/// A word of a shell command, quoted where necessary.
std::string shell_word(const std::string& text);

}  // namespace paragrad::search
