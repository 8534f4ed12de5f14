#include "search/job_array.hpp"

#include <string_view>

#include "core/format.hpp"

namespace paragrad::search {
namespace {

constexpr std::string_view plain_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_";

/// Fits into a line of options for sbatch, where it must not hold spaces, quotes or %.
std::string job_name(std::string text) {
  for (char& c : text)
    if (c == '%' || plain_characters.find(c) == std::string_view::npos) c = '_';
  return text;
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

/// As of experiments/cluster/job.sbatch. A task has the number ARRAY_TASK, not its job number, which the array has as well.
constexpr const char* script = R"bash(#!/bin/bash
# A search as a Slurm job array, written by `paragrad search --write-jobs`.
#SBATCH --job-name={name}
#SBATCH --array=1-{tasks}
#SBATCH --ntasks={ranks}
#SBATCH --cpus-per-task={cores}
#SBATCH --output=%x-%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@120

cd {here} || exit
runs=({runs})

saved() {{
  for ((run = SLURM_ARRAY_TASK_ID - 1; run < ${{#runs[@]}}; run += {tasks})); do
    cat {folder}/"${{runs[run]}}"/state/latest.json 2> /dev/null
  done
}}
before=$(saved)

# Shortly before the time limit the task returns to the queue, and its runs resume from their last checkpoints, as after a
# preemption or the loss of a node. A task that has saved nothing since it started would never finish that way: it fails.
requeue() {{
  if kill -0 "$search" 2> /dev/null && [ "$(saved)" = "$before" ]; then
    echo "no checkpoint was written within the time limit: give the task more time, or set checkpoint-every in the file of the search" >&2
    exit 1
  fi
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
  exec sleep 60  # until Slurm ends the task's processes; the checkpoints are complete at any moment
}}
trap requeue USR1

# PARAGRAD_INSIDE is a command to run the program in, such as "apptainer exec paragrad.sif".
# shellcheck disable=SC2086 # words on purpose
${{PARAGRAD_INSIDE:-}} {command} "$SLURM_ARRAY_TASK_ID" &
search=$!
wait "$search"
)bash";

}  // namespace

std::string shell_word(const std::string& text) {
  if (!text.empty() && text.find_first_not_of(plain_characters) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string job_array_file(const JobArray& array) {
  return core::format(fmt::runtime(script), fmt::arg("name", job_name(array.name)), fmt::arg("tasks", array.tasks),
                      fmt::arg("ranks", array.ranks), fmt::arg("cores", array.cores_of_rank),
                      fmt::arg("here", shell_word(array.working_folder)), fmt::arg("runs", shell_words(array.runs)),
                      fmt::arg("folder", shell_word(array.folder)), fmt::arg("command", shell_words(array.command)));
}

}  // namespace paragrad::search
