#include "search/search_arguments.hpp"

namespace paragrad::search {

const std::vector<std::string> searchable_commands{"simulate", "train"};

void SearchArguments::describe(core::OptionList& list) {
  const bool writes_jobs = !jobs_file.empty(), is_part = part > 0;
  const char* const needs_range = "needs a range in the file, such as 0.01..1";
  list.argument("file", file,
                "file with the options of the runs, 'key = value' as in `config`; a list such as [0.1, 0.2] makes a grid, "
                "values are drawn from a range such as 0.01..1 or \"0.01..1 log\", and {seed} stands for the run's seed")
      .path()
      .required();
  list.text("out", folder, "folder of the search, with a folder for each run").path().required();
  list.choice("command", command, searchable_commands, "command that each run executes");
  list.numbers("seeds", seeds, core::any_seed, "random seeds with which each configuration is run");
  list.number("draws", draws, {.least = 1, .most = 1000000},
              "number of draws from the ranges; every combination of the grid gets the same draws")
      .when(has_ranges, needs_range);
  list.number("draw-seed", draw_seed, core::any_seed, "random seed of the draws").when(has_ranges, needs_range);
  list.choice("measure", measure, {"auto", "valid_error", "valid_loss", "train_error", "train_loss", "training_s"},
              "score of a run; the lowest mean over the seeds is best (auto: valid_error or, of timing runs, training_s)");
  list.numbers("rungs", rungs, {.least = 1, .most = 1000000},
               "epochs after which only the best configurations go on (successive halving)");
  list.number("keep", keep, {.least = 0, .most = 1, .without_least = true},
              "share of the configurations that goes on at each rung")
      .when(!rungs.empty(), "needs `rungs`");
  list.number("jobs", jobs, {.least = 0, .most = 100000},
              "number of runs at a time (0: one per processor core or, with `ranks` N, one per N cores)")
      .when(!writes_jobs, "cannot be combined with `write-jobs`: a task executes one run at a time");
  list.number("host-threads", host_threads, {.least = 0, .most = 100000},
              "with `command` simulate: threads of this machine for each run (0: the cores divided by `jobs`)")
      .when(command == "simulate", "needs `command` simulate")
      .when(!only_rank, "is for runs, which `only-rank` does not execute");
  list.number("ranks", ranks, {.least = 0, .most = 100000},
              "with `command` train: MPI ranks of each run, which is then started with mpiexec (0: none)")
      .when(command == "train", "needs `command` train");
  list.number("groups", groups, {.least = 0, .most = 100000},
              "predict, from the times of the runs, how long the search takes on this many groups of workers (0: as many as "
              "`jobs`)")
      .when(!is_part && !writes_jobs, "is for the ranking, which neither `part` nor `write-jobs` prints");
  list.group("On a cluster");
  list.text("write-jobs", jobs_file,
            "execute nothing: write the search as a job array for Slurm's sbatch to this file; each of its tasks executes a "
            "part")
      .path();
  list.number("parts", parts, {.least = 0, .most = 1000000},
              "number of parts, each with an equal share of the runs (0: a part for each run)")
      .when(is_part || writes_jobs, "needs `write-jobs` or `part`");
  list.number(
          "part", part, {.least = 0, .most = 1000000},
          "execute only part K, counted from 1, of a search whose jobs were written; others may run at the same time (0: "
          "all runs)")
      .unless(is_part && writes_jobs, "cannot be combined with `write-jobs`");
  list.flag("only-rank", only_rank, "execute nothing: rank what the runs have reached so far")
      .unless(only_rank && writes_jobs, "cannot be combined with `write-jobs`")
      .unless(only_rank && is_part, "cannot be combined with `part`");
}

}  // namespace paragrad::search
