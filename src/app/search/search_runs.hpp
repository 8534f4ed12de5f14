#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "search/space.hpp"

namespace paragrad::app {

/// What the runs of a search have in common.
struct SearchPlan {
  std::string command = "simulate";            ///< of this program
  std::string folder;                          ///< a run's folder in it: 003-s1 is configuration 3 with seed 1
  std::vector<search::Values> configurations;  ///< "{seed}" in a value stands for the run's seed
  std::vector<std::uint64_t> seeds;
  int jobs = 1;          ///< runs at a time
  int ranks = 0;         ///< of each run, under mpiexec; 0: none
  int host_threads = 0;  ///< of each run of `simulate`; 0: not given
  bool pauses = false;   ///< runs are paused and resumed, so they save their state, at least after every epoch
};

/// What is known of a run.
struct RunRecord {
  core::Json values;  ///< of the last epoch reached or, if `finished`, of the result; an object, or null
  int epoch = 0;      ///< last epoch that is recorded
  bool finished = false;
  std::string failure;  ///< the run's error message; empty if it did not fail
};

/// The runs of a search, each a process of this program. What they did is read from their folders, so a search that was
/// killed goes on where it was: a finished run is not run again, a paused one resumes, and a failed one is tried again.
class SearchRuns {
 public:
  using Report = std::function<void(const std::string& run, const RunRecord& record)>;

  /// report: called for each run that ends or is paused.
  SearchRuns(SearchPlan plan, Report report);

  /// Has all runs of these configurations reach the end of the epoch, several at a time; those that have, do not run. 0: the
  /// end of training.
  void reach(const std::vector<std::size_t>& configurations, int epoch);

  /// epoch: the record of this epoch, or the result of a run that ended before it; 0: the last record, or the result.
  RunRecord record(std::size_t configuration, std::uint64_t seed, int epoch = 0) const;

 private:
  struct Job;

  std::string name(std::size_t configuration, std::uint64_t seed) const;
  std::string path(std::size_t configuration, std::uint64_t seed) const {
    return plan_.folder + "/" + name(configuration, seed);
  }
  std::vector<std::string> command_line(std::size_t configuration, std::uint64_t seed) const;
  bool has_reached(const RunRecord& record, int epoch) const;
  bool is_over(Job& job, int epoch) const;

  SearchPlan plan_;
  Report report_;
};

}  // namespace paragrad::app
