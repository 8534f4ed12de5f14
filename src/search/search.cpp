#include "search/search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "cli/command.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "runs/environment.hpp"
#include "search/halving.hpp"
#include "search/makespan.hpp"
#include "search/search_identity.hpp"
#include "search/search_table.hpp"
#include "system/file_replacement.hpp"
#include "worlds/interruption.hpp"

namespace paragrad::search {
namespace {

class Search {
 public:
  Search(const SearchArguments& arguments, const Methods& methods, SearchPlan plan)
      : arguments_(arguments),
        varied_(methods.varied()),
        plan_(std::move(plan)),
        stopped_after_(plan_.configurations.size(), 0),
        runs_(plan_, [this](const std::string& run, const RunRecord& record) { report(run, record); }) {}

  int run() {
    runs_.forget_failures();
    prepare_for_interruption();
    fmt::print("{}, {} runs at a time\n", description(), plan_.jobs);
    execute();
    return finish();
  }

  int run_part() {
    prepare_for_interruption();
    fmt::print("{}; part {} of {}\n", description(), arguments_.part, arguments_.parts);
    execute();
    if (const std::vector<std::string> failures = runs_.failures(); !failures.empty())
      throw core::ConfigError(core::format("{} of the {} runs of part {} failed; the first: {}", failures.size(),
                                           plan_.own.size(), arguments_.part, failures[0]));
    return cli::success;
  }

  int only_rank() {
    fmt::print("{}\n", description());
    execute();
    return finish();
  }

 private:
  /// What a run has taken so far, in simulated or real time.
  struct Spent {
    double training_s = 0;
    int epochs = 0;
  };

  std::string description() const {
    std::set<std::string> methods;
    for (const Configuration& one : plan_.configurations) methods.insert(one.method);
    const auto counted = [](std::size_t count, const char* what) {
      return core::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    return (methods.size() > 1 ? counted(methods.size(), "method") + ", " : "") +
           counted(plan_.configurations.size(), "configuration") + ", " + counted(plan_.seeds.size(), "seed");
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
    const std::vector<std::size_t> kept = best_of_each_method(here, scores);
    for (const std::size_t configuration : kept) stopped_after_[configuration] = 0;
    fmt::print("epoch {}: {} of {} configurations continue\n", rung, kept.size(), here.size());
    return kept;
  }

  /// The share of `keep` of each method, in the order of `here`. scores: of `here`.
  std::vector<std::size_t> best_of_each_method(const std::vector<std::size_t>& here,
                                               const std::vector<double>& scores) const {
    std::map<std::string, std::vector<std::size_t>> places;
    for (std::size_t place = 0; place < here.size(); ++place)
      places[plan_.configurations[here[place]].method].push_back(place);
    std::vector<std::size_t> kept;
    for (const auto& [method, of_method] : places) {
      std::vector<double> own;
      for (const std::size_t place : of_method) own.push_back(scores[place]);
      for (const std::size_t survivor : search::survivors(own, arguments_.keep)) kept.push_back(here[of_method[survivor]]);
    }
    std::ranges::sort(kept);
    return kept;
  }

  /// Adds the time that these configurations took from the previous rung to this one (0: the end).
  void account(const std::vector<std::size_t>& here, int rung) {
    std::vector<double> stage;
    for (const std::size_t configuration : here)
      for (const std::uint64_t seed : plan_.seeds) {
        Spent& so_far = spent_[{configuration, seed}];
        const RunRecord record = runs_.record(configuration, seed, rung);
        const double reached_s = record.training_s;
        if (std::isnan(reached_s)) continue;  // it failed before its first record
        stage.push_back(reached_s - so_far.training_s);
        so_far = {reached_s, record.epoch};
      }
    makespan_s_ += search::makespan(stage, groups());
  }

  std::size_t groups() const { return static_cast<std::size_t>(arguments_.groups > 0 ? arguments_.groups : plan_.jobs); }

  void report(const std::string& run, const RunRecord& record) {
    const double value = record.score(arguments_.measure);
    if (!record.failure.empty())
      report_failure(run, record.failure);
    else
      fmt::print("{}  {} {}{}{}\n", run, arguments_.measure,
                 std::isnan(value)                       ? "-"
                 : arguments_.measure.ends_with("error") ? core::format("{:.2f} %", 100 * value)
                 : arguments_.measure.ends_with("_s")    ? core::format_quantity(value, core::Unit::time)
                                                         : core::format("{:.4g}", value),
                 record.finished ? "" : core::format(" after epoch {}", record.epoch),
                 record.remark.empty() ? "" : core::format(" ({})", record.remark));
    std::fflush(stdout);
    if (record.finished || !record.failure.empty()) ended_.insert(run);
    announce();
  }

  /// Many runs may fail for the same reason.
  void report_failure(const std::string& run, const std::string& failure) {
    const auto [first, is_new] = first_with_.emplace(failure, run);
    fmt::print("{}  {}\n", run, is_new ? core::printable(failure) : core::format("the same as {}", first->second));
  }

  void prepare_for_interruption() {
    for (const std::size_t number : plan_.own) {
      const std::size_t configuration = number / plan_.seeds.size();
      const std::uint64_t seed = plan_.seeds[number % plan_.seeds.size()];
      if (runs_.record(configuration, seed).finished) ended_.insert(run_name(configuration, seed));
    }
    announce();
  }

  void announce() const {
    worlds::set_interruption_notice(
        core::format("interrupted: {} of {} runs in {} have ended; the same command continues the search", ended_.size(),
                     plan_.own.size(), plan_.folder));
  }

  /// What is known of the configuration, at its rung if it was stopped there, however far its runs had come.
  SearchedConfiguration searched(std::size_t configuration) const {
    SearchedConfiguration found;
    found.name = core::format("{:03}", configuration + 1);
    const auto& [values, method] = plan_.configurations[configuration];
    found.method = method;
    for (const std::string& option : varied_) found.values.push_back(values.contains(option) ? values.at(option) : "");
    found.to_the_end = stopped_after_[configuration] == 0;
    for (const std::uint64_t seed : plan_.seeds) {
      const RunRecord record = runs_.record(configuration, seed, stopped_after_[configuration]);
      found.epochs = std::max(found.epochs, record.epoch);
      found.to_the_end = found.to_the_end && (record.finished || !record.failure.empty());
      found.measures.push_back(record.score(arguments_.measure));
      found.test_errors.push_back(record.score("test_error"));
      found.sent_bytes.push_back(record.failure.empty() ? record.sent_bytes : NAN);
      found.training_s.push_back(record.failure.empty() ? record.training_s : NAN);
      found.remarks.push_back(record.remark);
    }
    return found;
  }

  int finish() const {
    Searched all;
    for (std::size_t configuration = 0; configuration < plan_.configurations.size(); ++configuration)
      all.push_back(searched(configuration));
    rank(all);
    const core::Json results{{"measure", arguments_.measure},
                             {"seeds", plan_.seeds},
                             {"configurations", search_json(varied_, arguments_.measure, all)}};
    system::replace_file(
        plan_.folder + "/results.json", [&](std::ostream& file) { file << core::text_of(results, 1) << "\n"; },
        system::Links::replace);
    write_manifest(all[0]);
    worlds::set_interruption_notice("");
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
    print_cost();
    fmt::print("{}", search_table(varied_, arguments_.measure, all, Spread::deviation));
    print_methods(all);
    fmt::print("best by {}: {}/{}-s{}\n", arguments_.measure, core::printable(plan_.folder), all[0].name, plan_.seeds[0]);
    require_no_refusal(all);
    return cli::success;
  }

  void print_methods(const Searched& ranked) const {
    const Searched best = best_of_methods(ranked);
    if (best[0].method.empty()) return;
    fmt::print("\nbest of each method{}\n{}\n", plan_.seeds.size() > 1 ? "; ±: 95 % confidence interval of the mean" : "",
               search_table(varied_, arguments_.measure, best, Spread::interval));
  }

  /// The others are ranked all the same.
  void require_no_refusal(const std::vector<SearchedConfiguration>& all) const {
    std::ptrdiff_t refused = 0;
    for (const SearchedConfiguration& one : all) refused += std::ranges::count(one.remarks, "refused");
    if (refused == 0) return;
    std::fflush(stdout);
    throw core::ConfigError(core::format("{} of {} runs were refused and are not ranked; the first: {}", refused,
                                         plan_.configurations.size() * plan_.seeds.size(), first_failure("refused")));
  }

  /// Of all runs, in real or simulated time.
  Spent spent_in_all() const {
    Spent all;
    for (const auto& [run, spent] : spent_) {
      all.training_s += spent.training_s;
      all.epochs += spent.epochs;
    }
    return all;
  }

  void print_cost() const {
    const Spent all = spent_in_all();
    fmt::print("{} epochs in all: {} of training, or on {} group{} of workers {}\n", all.epochs,
               core::format_quantity(all.training_s, core::Unit::time), groups(), groups() == 1 ? "" : "s",
               core::format_quantity(makespan_s_, core::Unit::time));
  }

  /// What the search cost and found, in the form of a run's manifest.
  void write_manifest(const SearchedConfiguration& best) const {
    const Spent spent = spent_in_all();
    core::Json manifest = runs::environment();
    manifest["run"] = search_identity(arguments_, plan_);
    manifest["run"]["groups"] = groups();
    manifest["result"] = {{"best", best.name},
                          {"runs", spent_.size()},
                          {"epochs", spent.epochs},
                          {"training_s", spent.training_s},
                          {"makespan_s", makespan_s_},
                          {arguments_.measure, best.score()},
                          {"test_error", best.test_error()}};
    system::replace_file(
        plan_.folder + "/manifest.json", [&](std::ostream& file) { file << core::text_of(manifest, 1) << "\n"; },
        system::Links::replace);
  }

  /// remark: of which kind; "": of any.
  std::string first_failure(const std::string& remark = "") const {
    for (std::size_t configuration = 0; configuration < plan_.configurations.size(); ++configuration)
      for (const std::uint64_t seed : plan_.seeds)
        if (const RunRecord record = runs_.record(configuration, seed);
            !record.failure.empty() && (remark.empty() || record.remark == remark))
          return core::format("{}: {}", run_name(configuration, seed), record.failure);
    return {};
  }

  const SearchArguments& arguments_;
  std::vector<std::string> varied_;
  SearchPlan plan_;
  std::vector<int> stopped_after_;  // the rung of each configuration; 0: not stopped
  bool all_have_ended_ = true;      // or were stopped at a rung
  SearchRuns runs_;

  std::map<std::pair<std::size_t, std::uint64_t>, Spent> spent_;  // by configuration and seed
  double makespan_s_ = 0;
  std::set<std::string> ended_;                    // of this process's runs
  std::map<std::string, std::string> first_with_;  // run with this failure
};

}  // namespace

int run_search(const SearchArguments& arguments, const Methods& methods, SearchPlan plan) {
  return Search(arguments, methods, std::move(plan)).run();
}

int run_part_of_search(const SearchArguments& arguments, const Methods& methods, SearchPlan plan) {
  return Search(arguments, methods, std::move(plan)).run_part();
}

int rank_search(const SearchArguments& arguments, const Methods& methods, SearchPlan plan) {
  return Search(arguments, methods, std::move(plan)).only_rank();
}

}  // namespace paragrad::search
