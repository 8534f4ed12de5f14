#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "search/methods.hpp"

namespace paragrad::search {

/// What the runs of a search have in common.
struct SearchPlan {
  std::string command = "simulate";             ///< of this program
  std::string folder{};                         ///< a run's folder in it: 003-s1 is configuration 3 with seed 1
  std::vector<Configuration> configurations{};  ///< "{seed}" in a value stands for the run's seed
  std::vector<std::uint64_t> seeds{};
  std::vector<std::size_t> own{};  ///< numbers from 0, in the order of run_names(), of the runs that this process executes
  int jobs = 1;                    ///< runs at a time
  int ranks = 0;                   ///< of each run, under mpiexec; 0: none
  int host_threads = 0;            ///< of each run of `simulate`; 0: not given
  bool pauses = false;             ///< runs are paused and resumed, so they save their state, at least after every epoch
};

/// The value of an option with the seed for "{seed}".
std::string with_seed(std::string value, std::uint64_t seed);

/// 003-s1: configuration 3, counted from 1, with seed 1.
std::string run_name(std::size_t configuration, std::uint64_t seed);

/// Of all runs of the plan.
std::vector<std::string> run_names(const SearchPlan& plan);

/// What is known of a run.
struct RunRecord {
  core::Json values;        ///< of the last epoch reached or, if `finished`, of the result; an object, or null
  int epoch = 0;            ///< last epoch that is recorded
  double sent_bytes = NAN;  ///< so far, by a worker on average; NAN if it is not known
  double training_s = NAN;  ///< so far, on the clock of the run
  bool finished = false;
  std::string failure;  ///< the run's error message; empty if it did not fail

  /// What is to be known of its score: "refused" (its options cannot be combined: it never began), "failed" (while it
  /// trained), "diverged or too short" (its loss is above that of a constant output); empty if it is a score like others.
  std::string remark;

  /// Its score by the measure; NAN if it failed or has none.
  double score(const std::string& measure) const;
};

/// The runs of a search, each a process of this program. What they did is read from their folders, so a search that was
/// killed goes on where it was: a finished run is not run again, a paused one resumes, and a failed one is tried again.
/// Several processes may execute different runs of one search at the same time.
class SearchRuns {
 public:
  using Report = std::function<void(const std::string& run, const RunRecord& record)>;

  /// report: called for each run that ends or is paused.
  SearchRuns(SearchPlan plan, Report report);

  /// Has failed runs of this process tried again even at epochs that all runs have reached.
  void forget_failures();

  /// Has this process's runs of these configurations reach the end of the epoch, several at a time; those that have, do not
  /// run. 0: the end of training. Once all runs have reached an epoch, those that failed before it are not tried again.
  void reach(const std::vector<std::size_t>& configurations, int epoch);

  /// The runs of these configurations, whichever process executes them, that have neither reached the epoch nor failed.
  std::vector<std::string> behind(const std::vector<std::size_t>& configurations, int epoch) const;

  /// Error messages of this process's runs that failed.
  std::vector<std::string> failures() const;

  /// epoch: the record of this epoch, or the result of a run that ended before it; 0: the last record, or the result.
  RunRecord record(std::size_t configuration, std::uint64_t seed, int epoch = 0) const;

 private:
  struct Job;
  struct Run {
    std::size_t configuration;
    std::uint64_t seed;
  };

  std::vector<Run> own_runs() const;
  std::string path(std::size_t configuration, std::uint64_t seed) const {
    return plan_.folder + "/" + run_name(configuration, seed);
  }
  std::vector<std::string> command_line(std::size_t configuration, std::uint64_t seed) const;
  bool has_reached(const RunRecord& record, int epoch) const;
  bool is_over(Job& job, int epoch) const;

  SearchPlan plan_;
  Report report_;
};

}  // namespace paragrad::search
