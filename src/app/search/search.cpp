#include "app/search/search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "app/command.hpp"
#include "app/environment.hpp"
#include "app/search/search_identity.hpp"
#include "app/search/search_table.hpp"
#include "core/errors.hpp"
#include "core/file_replacement.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "search/halving.hpp"
#include "search/makespan.hpp"

namespace paragrad::app {
namespace {

/// NAN if there is no such number.
double number_in(const core::Json& values, const std::string& name) {
  return values.contains(name) && values.at(name).is_number() ? values.at(name).get<double>() : NAN;
}

double value_of(const RunRecord& record, const std::string& measure) {
  return record.failure.empty() ? number_in(record.values, measure) : NAN;
}

class Search {
 public:
  Search(const SearchArguments& arguments, const search::Space& space, SearchPlan plan)
      : arguments_(arguments),
        varied_(space.varied()),
        plan_(std::move(plan)),
        stopped_after_(plan_.configurations.size(), 0),
        runs_(plan_, [this](const std::string& run, const RunRecord& record) { report(run, record); }) {}

  int run() {
    runs_.forget_failures();
    fmt::print("{}, {} runs at a time\n", description(), plan_.jobs);
    execute();
    return finish();
  }

  int run_part() {
    fmt::print("{}; part {} of {}\n", description(), arguments_.part, arguments_.parts);
    execute();
    if (const std::vector<std::string> failures = runs_.failures(); !failures.empty())
      throw core::ConfigError(core::format("{} of the {} runs of part {} failed; the first: {}", failures.size(),
                                           plan_.own.size(), arguments_.part, failures[0]));
    return success;
  }

  int only_rank() {
    fmt::print("{}\n", description());
    execute();
    return finish();
  }

 private:
  std::string description() const {
    return core::format("{} configurations, {} seed{}", plan_.configurations.size(), plan_.seeds.size(),
                        plan_.seeds.size() == 1 ? "" : "s");
  }

  /// Trains the configurations from rung to rung, as far as other processes have come with their runs.
  void execute() {
    std::vector<std::size_t> here(plan_.configurations.size());
    std::iota(here.begin(), here.end(), std::size_t{0});
    for (const int rung : arguments_.rungs) {
      if (!reach(here, rung)) return;
      here = best_of(here, rung);
    }
    reach(here, 0);
  }

  /// Trains these configurations to the rung (0: the end). False if runs that other processes execute have not reached it.
  bool reach(const std::vector<std::size_t>& here, int rung) {
    runs_.reach(here, rung);
    account(here, rung);
    const std::vector<std::string> behind = runs_.behind(here, rung);
    if (behind.empty()) return true;
    all_have_ended_ = false;
    if (arguments_.only_rank || rung > 0)
      fmt::print("{} of {} runs have not reached {} yet; the first: {}\n", behind.size(), here.size() * plan_.seeds.size(),
                 rung > 0 ? core::format("epoch {}", rung) : "their end", behind[0]);
    return false;
  }

  /// The configurations that go on after the rung, in their order.
  std::vector<std::size_t> best_of(const std::vector<std::size_t>& here, int rung) {
    std::vector<double> scores;
    for (const std::size_t configuration : here) {
      stopped_after_[configuration] = rung;
      scores.push_back(searched(configuration).score());
    }
    std::vector<std::size_t> kept;
    for (const std::size_t place : search::survivors(scores, arguments_.keep)) kept.push_back(here[place]);
    for (const std::size_t configuration : kept) stopped_after_[configuration] = 0;
    std::ranges::sort(kept);
    fmt::print("epoch {}: {} of {} configurations go on\n", rung, kept.size(), here.size());
    return kept;
  }

  /// Adds the time that these configurations took from the previous rung to this one (0: the end).
  void account(const std::vector<std::size_t>& here, int rung) {
    std::vector<double> stage;
    for (const std::size_t configuration : here)
      for (const std::uint64_t seed : plan_.seeds) {
        Spent& so_far = spent_[{configuration, seed}];
        const RunRecord record = runs_.record(configuration, seed, rung);
        const double reached_s = number_in(record.values, record.values.contains("training_s") ? "training_s" : "time_s");
        if (std::isnan(reached_s)) continue;  // it failed before its first record
        stage.push_back(reached_s - so_far.training_s);
        so_far = {reached_s, record.epoch};
      }
    makespan_s_ += search::makespan(stage, groups());
  }

  std::size_t groups() const { return static_cast<std::size_t>(arguments_.groups > 0 ? arguments_.groups : plan_.jobs); }

  void report(const std::string& run, const RunRecord& record) const {
    const double value = value_of(record, arguments_.measure);
    if (!record.failure.empty())
      fmt::print("{}  {}\n", run, core::printable(record.failure));
    else
      fmt::print("{}  {} {}{}\n", run, arguments_.measure,
                 std::isnan(value)                       ? "-"
                 : arguments_.measure.ends_with("error") ? core::format("{:.2f} %", 100 * value)
                                                         : core::format("{:.4g}", value),
                 record.finished ? "" : core::format(" after epoch {}", record.epoch));
    std::fflush(stdout);
  }

  /// What is known of the configuration, at its rung if it was stopped there, however far its runs had come.
  SearchedConfiguration searched(std::size_t configuration) const {
    SearchedConfiguration found;
    found.name = core::format("{:03}", configuration + 1);
    for (const std::string& option : varied_) found.values.push_back(plan_.configurations[configuration].at(option));
    found.to_the_end = stopped_after_[configuration] == 0;
    for (const std::uint64_t seed : plan_.seeds) {
      const RunRecord record = runs_.record(configuration, seed, stopped_after_[configuration]);
      found.epochs = std::max(found.epochs, record.epoch);
      found.to_the_end = found.to_the_end && (record.finished || !record.failure.empty());
      found.measures.push_back(value_of(record, arguments_.measure));
      found.test_errors.push_back(value_of(record, "test_error"));
    }
    return found;
  }

  int finish() const {
    std::vector<SearchedConfiguration> all;
    for (std::size_t configuration = 0; configuration < plan_.configurations.size(); ++configuration)
      all.push_back(searched(configuration));
    rank(all);
    const core::Json results{{"measure", arguments_.measure},
                             {"seeds", plan_.seeds},
                             {"configurations", search_json(varied_, arguments_.measure, all)}};
    core::replace_file(plan_.folder + "/results.json",
                       [&](std::ostream& file) { file << core::text_of(results, 1) << "\n"; });
    write_manifest(all[0]);
    fmt::print("{}", search_table(varied_, arguments_.measure, all));
    if (std::isnan(all[0].score())) {
      if (!all_have_ended_)
        throw core::ConfigError("no configuration has a result of each seed yet: rank again when more runs have ended");
      const std::string failure = first_failure();
      throw core::ConfigError(failure.empty()
                                  ? core::format("no configuration has the measure '{}' for all seeds; choose another "
                                                 "with --measure",
                                                 arguments_.measure)
                                  : core::format("every configuration failed; the first: {}", failure));
    }
    fmt::print("best by {}: {}/{}-s{}\n", arguments_.measure, core::printable(plan_.folder), all[0].name, plan_.seeds[0]);
    return success;
  }

  /// What the search cost and found, in the form of a run's manifest.
  void write_manifest(const SearchedConfiguration& best) const {
    double training_s = 0;
    int epochs = 0;
    for (const auto& [run, spent] : spent_) {
      training_s += spent.training_s;
      epochs += spent.epochs;
    }
    fmt::print("{} epochs in all: {} of training, or on {} group{} of workers {}\n", epochs,
               core::format_quantity(training_s, core::Unit::time), groups(), groups() == 1 ? "" : "s",
               core::format_quantity(makespan_s_, core::Unit::time));
    core::Json manifest = environment();
    manifest["run"] = search_identity(arguments_, plan_);
    manifest["run"]["groups"] = groups();
    manifest["result"] = {{"best", best.name},
                          {"runs", spent_.size()},
                          {"epochs", epochs},
                          {"training_s", training_s},
                          {"makespan_s", makespan_s_},
                          {arguments_.measure, best.score()},
                          {"test_error", best.test_error()}};
    core::replace_file(plan_.folder + "/manifest.json",
                       [&](std::ostream& file) { file << core::text_of(manifest, 1) << "\n"; });
  }

  std::string first_failure() const {
    for (std::size_t configuration = 0; configuration < plan_.configurations.size(); ++configuration)
      for (const std::uint64_t seed : plan_.seeds)
        if (std::string failure = runs_.record(configuration, seed).failure; !failure.empty()) return failure;
    return {};
  }

  const SearchArguments& arguments_;
  std::vector<std::string> varied_;
  SearchPlan plan_;
  std::vector<int> stopped_after_;  // the rung of each configuration; 0: not stopped
  bool all_have_ended_ = true;      // or were stopped at a rung
  SearchRuns runs_;

  /// What a run has taken so far, in simulated or real time.
  struct Spent {
    double training_s = 0;
    int epochs = 0;
  };
  std::map<std::pair<std::size_t, std::uint64_t>, Spent> spent_;  // by configuration and seed
  double makespan_s_ = 0;
};

}  // namespace

int run_search(const SearchArguments& arguments, const search::Space& space, SearchPlan plan) {
  return Search(arguments, space, std::move(plan)).run();
}

int run_part_of_search(const SearchArguments& arguments, const search::Space& space, SearchPlan plan) {
  return Search(arguments, space, std::move(plan)).run_part();
}

int rank_search(const SearchArguments& arguments, const search::Space& space, SearchPlan plan) {
  return Search(arguments, space, std::move(plan)).only_rank();
}

}  // namespace paragrad::app
