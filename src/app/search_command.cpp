#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "app/config_file.hpp"
#include "app/environment.hpp"
#include "app/number_options.hpp"
#include "app/option_use.hpp"
#include "app/program_parser.hpp"
#include "app/search/search_identity.hpp"
#include "app/search/search_runs.hpp"
#include "app/search/search_table.hpp"
#include "core/errors.hpp"
#include "core/file_replacement.hpp"
#include "core/files.hpp"
#include "core/folder_lock.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "search/halving.hpp"
#include "search/makespan.hpp"

namespace paragrad::app {
namespace {

struct SearchArguments {
  std::string file;
  std::string folder;
  std::string command = "simulate";
  std::vector<std::uint64_t> seeds{1};
  std::size_t draws = 8;
  std::uint64_t draw_seed = 1;
  std::string measure = "valid_error";
  std::vector<int> rungs;
  double keep = 0.5;
  int jobs = 0;
  int ranks = 0;
  int host_threads = 0;
  int groups = 0;
};

const std::vector<std::string> searchable_commands{"simulate", "train"};
const std::vector<std::string> search_measures{"valid_error", "valid_loss", "train_error", "train_loss"};

/// What the search sets itself.
const std::set<std::string> not_of_the_file{"out", "resume", "overwrite", "quiet", "config", "seed", "host-threads"};

void add_options(CLI::App& parser, SearchArguments& arguments) {
  parser
      .add_option("file", arguments.file,
                  "file with the options of the runs, 'key = value' as in --config; a list such as [0.1, 0.2] makes a grid, "
                  "values are drawn from a range such as 0.01..1 or \"0.01..1 log\", and {seed} stands for the run's seed")
      ->required();
  parser.add_option("--out", arguments.folder, "folder of the search, with a folder for each run")->required();
  parser.add_option("--command", arguments.command, "command that each run executes")
      ->check(known_names(searchable_commands));
  add_numbers(parser, "--seeds", arguments.seeds, core::any_seed, "random seeds with which each configuration is run");
  add_number(parser, "--draws", arguments.draws, {.least = 1, .most = 1000000},
             "number of draws from the ranges; every combination of the grid gets the same draws");
  add_number(parser, "--draw-seed", arguments.draw_seed, core::any_seed, "random seed of the draws");
  parser.add_option("--measure", arguments.measure, "score of a run; the lowest mean over the seeds is best")
      ->check(known_names(search_measures));
  add_numbers(parser, "--rungs", arguments.rungs, {.least = 1, .most = 1000000},
              "epochs after which only the best configurations go on (successive halving)");
  add_number(parser, "--keep", arguments.keep, {.least = 0, .most = 1, .without_least = true},
             "share of the configurations that goes on at each rung");
  add_number(parser, "--jobs", arguments.jobs, {.least = 0, .most = 100000},
             "number of runs at a time (0: one per processor core or, with --ranks N, one per N cores)");
  add_number(parser, "--host-threads", arguments.host_threads, {.least = 0, .most = 100000},
             "with --command simulate: threads of this machine for each run (0: the cores divided by --jobs)");
  add_number(parser, "--ranks", arguments.ranks, {.least = 0, .most = 100000},
             "with --command train: MPI ranks of each run, which is then started with mpiexec (0: none)");
  add_number(parser, "--groups", arguments.groups, {.least = 0, .most = 100000},
             "predict, from the times of the runs, how long the search takes on this many groups of workers (0: as many "
             "as --jobs)");
}

search::Space read_space(const SearchArguments& arguments, CLI::App& runs) {
  std::ifstream input(arguments.file);
  if (!input) throw core::ConfigError(core::format("cannot read '{}'", arguments.file));
  search::Space space;
  for (const ConfigEntry& entry : read_config(input, arguments.file)) {
    if (not_of_the_file.contains(entry.key))
      throw entry.error(core::format("'{}' is set by the search{}", entry.key,
                                     entry.key == "seed"           ? ": give --seeds"
                                     : entry.key == "host-threads" ? ": give --host-threads"
                                                                   : ""));
    option_of(runs, entry);
    space.add(entry.key, entry.values);
  }
  return space;
}

/// What decides the runs and their results.
core::Json identity(const SearchArguments& arguments) {
  return {{"command", arguments.command},     {"options", core::read_text(arguments.file)},
          {"seeds", arguments.seeds},         {"draws", arguments.draws},
          {"draw-seed", arguments.draw_seed}, {"measure", arguments.measure},
          {"rungs", arguments.rungs},         {"keep", arguments.keep},
          {"ranks", arguments.ranks}};
}

/// NAN if there is no such number.
double number_in(const core::Json& values, const std::string& name) {
  return values.contains(name) && values.at(name).is_number() ? values.at(name).get<double>() : NAN;
}

double value_of(const RunRecord& record, const std::string& measure) {
  return record.failure.empty() ? number_in(record.values, measure) : NAN;
}

class Search {
 public:
  Search(const SearchArguments& arguments, const search::Space& space)
      : arguments_(arguments),
        varied_(space.varied()),
        plan_(plan(arguments, space)),
        stopped_after_(plan_.configurations.size(), 0),
        runs_(plan_, [this](const std::string& run, const RunRecord& record) { report(run, record); }) {}

  int run() {
    fmt::print("{} configurations, {} seed{}, {} runs at a time\n", plan_.configurations.size(), plan_.seeds.size(),
               plan_.seeds.size() == 1 ? "" : "s", plan_.jobs);
    std::vector<std::size_t> here(plan_.configurations.size());
    std::iota(here.begin(), here.end(), std::size_t{0});
    for (const int rung : arguments_.rungs) here = go_on(here, rung);
    runs_.reach(here, 0);
    account(here, 0);
    return finish();
  }

 private:
  static SearchPlan plan(const SearchArguments& arguments, const search::Space& space) {
    SearchPlan plan;
    plan.command = arguments.command;
    plan.folder = arguments.folder;
    plan.configurations = space.configurations(arguments.draws, arguments.draw_seed);
    plan.seeds = arguments.seeds;
    plan.ranks = arguments.ranks;
    plan.pauses = !arguments.rungs.empty();
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    plan.jobs = arguments.jobs > 0 ? arguments.jobs : std::max(1, cores / std::max(1, arguments.ranks));
    if (arguments.command == "simulate")
      plan.host_threads = arguments.host_threads > 0 ? arguments.host_threads : std::max(1, cores / plan.jobs);
    return plan;
  }

  /// Trains these configurations to the rung. Returns those that go on, in their order.
  std::vector<std::size_t> go_on(const std::vector<std::size_t>& here, int rung) {
    runs_.reach(here, rung);
    account(here, rung);
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
      fmt::print(
          "{}  {} {}{}\n", run, arguments_.measure,
          arguments_.measure.ends_with("error") ? core::format("{:.2f} %", 100 * value) : core::format("{:.4g}", value),
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
    manifest["run"] = identity(arguments_);
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
  SearchRuns runs_;

  /// What a run has taken so far, in simulated or real time.
  struct Spent {
    double training_s = 0;
    int epochs = 0;
  };
  std::map<std::pair<std::size_t, std::uint64_t>, Spent> spent_;  // by configuration and seed
  double makespan_s_ = 0;
};

void check(SearchArguments& arguments, const CLI::App& parser) {
  if (std::ranges::find(searchable_commands, arguments.command) == searchable_commands.end())
    throw core::unknown_name("command", arguments.command, searchable_commands);
  if (std::ranges::find(search_measures, arguments.measure) == search_measures.end())
    throw core::unknown_name("measure", arguments.measure, search_measures);
  OptionUse use(parser);
  use.require(arguments.command == "train", {"ranks"}, "needs --command train");
  use.require(arguments.command == "simulate", {"host-threads"}, "needs --command simulate");
  use.require(!arguments.rungs.empty(), {"keep"}, "needs --rungs");
  use.check();
  if (std::ranges::adjacent_find(arguments.rungs, std::ranges::greater_equal{}) != arguments.rungs.end())
    throw core::ConfigError("--rungs must increase, for example 1,3,9");
  if (std::set(arguments.seeds.begin(), arguments.seeds.end()).size() < arguments.seeds.size())
    throw core::ConfigError("--seeds names a seed twice");
}

int search_runs(SearchArguments& arguments, const CLI::App& parser) {
  check(arguments, parser);
  const Command runs = make_command(arguments.command);
  const search::Space space = read_space(arguments, *runs.parser);
  OptionUse use(parser);
  use.require(space.has_ranges(), {"draws", "draw-seed"}, "needs a range in the file, such as 0.01..1");
  use.check();
  const core::FolderLock lock(arguments.folder);
  check_same_search(arguments.folder, identity(arguments), arguments.file);
  return Search(arguments, space).run();
}

}  // namespace

Command search_command() {
  auto arguments = std::make_shared<SearchArguments>();
  auto parser =
      make_parser("search",
                  "Run a grid of options, random draws and seeds, several runs at a time, and rank the configurations.\n"
                  "If it is interrupted, the same command continues it: finished runs are not run again.");
  add_options(*parser, *arguments);
  set_examples(
      *parser,
      "printf 'data = frames.h5\\nmodel = 40-64-120:relu\\nepochs = 2\\nworkers = 4\\n"
      "platform = sim/platforms/k40m-fdr.toml\\nstrategy = [bmuf, model_averaging]\\nlearning-rate = \"0.01..0.3 log\"\\n' "
      "> search.toml\n"
      "paragrad search search.toml --draws 3 --seeds 1,2 --out searches/grid\n"
      "paragrad search search.toml --draws 3 --rungs 1 --keep 0.5 --out searches/halving");
  return {parser, [arguments, parser] { return search_runs(*arguments, *parser); }};
}

}  // namespace paragrad::app
