#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "app/config_file.hpp"
#include "app/environment.hpp"
#include "app/number_options.hpp"
#include "app/option_use.hpp"
#include "app/option_values.hpp"
#include "app/program_parser.hpp"
#include "app/search/job_array.hpp"
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
  std::string jobs_file;
  std::size_t parts = 0;
  std::size_t part = 0;
  bool only_rank = false;
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
  const Heading heading(parser, "On a cluster");
  parser.add_option(
      "--write-jobs", arguments.jobs_file,
      "execute nothing: write the search as a job array for Slurm's sbatch to this file; each of its tasks executes a part");
  add_number(parser, "--parts", arguments.parts, {.least = 0, .most = 1000000},
             "number of parts, each with an equal share of the runs (0: a part for each run)");
  add_number(parser, "--part", arguments.part, {.least = 0, .most = 1000000},
             "execute only part K, counted from 1, of a search whose jobs were written; others may run at the same time (0: "
             "all runs)");
  parser.add_flag("--only-rank", arguments.only_rank, "execute nothing: rank what the runs have reached so far");
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

SearchPlan plan_of(const SearchArguments& arguments, const search::Space& space) {
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

void check(SearchArguments& arguments, const CLI::App& parser) {
  if (std::ranges::find(searchable_commands, arguments.command) == searchable_commands.end())
    throw core::unknown_name("command", arguments.command, searchable_commands);
  if (std::ranges::find(search_measures, arguments.measure) == search_measures.end())
    throw core::unknown_name("measure", arguments.measure, search_measures);
  OptionUse use(parser);
  use.require(arguments.command == "train", {"ranks"}, "needs --command train");
  use.require(arguments.command == "simulate", {"host-threads"}, "needs --command simulate");
  use.require(!arguments.rungs.empty(), {"keep"}, "needs --rungs");
  const bool part = arguments.part > 0, jobs = use.given("write-jobs");
  use.require(part || jobs, {"parts"}, "needs --write-jobs or --part");
  use.require(!jobs, {"part", "only-rank"}, "cannot be combined with --write-jobs");
  use.require(!part, {"only-rank"}, "cannot be combined with --part");
  use.require(!jobs, {"jobs"}, "cannot be combined with --write-jobs: a task executes one run at a time");
  use.require(!part && !jobs, {"groups"}, "is for the ranking, which neither --part nor --write-jobs prints");
  use.require(!arguments.only_rank, {"host-threads"}, "is for runs, which --only-rank does not execute");
  use.check();
  if (std::ranges::adjacent_find(arguments.rungs, std::ranges::greater_equal{}) != arguments.rungs.end())
    throw core::ConfigError("--rungs must increase, for example 1,3,9");
  if (std::set(arguments.seeds.begin(), arguments.seeds.end()).size() < arguments.seeds.size())
    throw core::ConfigError("--seeds names a seed twice");
}

/// Of all runs in `number` parts, the numbers of those in part K, counted from 1.
std::vector<std::size_t> runs_of_part(std::size_t part, std::size_t number, std::size_t all) {
  std::vector<std::size_t> runs;
  for (std::size_t run = part - 1; run < all; run += number) runs.push_back(run);
  return runs;
}

/// The search's command line up to the number of the part.
std::vector<std::string> command_of_parts(const SearchArguments& arguments, const CLI::App& parser) {
  std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe"), "search"};
  const std::set<std::string> set_here{"write-jobs", "parts"};
  for (const CLI::Option* const option : named_options(parser))
    if (option->count() > 0 && !set_here.contains(option->get_name().substr(2)))
      command.push_back(core::format("{}={}", option->get_name(), fmt::join(option->results(), ",")));
  if (arguments.command == "simulate" && arguments.host_threads == 0) command.push_back("--host-threads=1");
  command.push_back("--jobs=1");
  command.push_back(core::format("--parts={}", arguments.parts));
  command.insert(command.end(), {arguments.file, "--part"});
  return command;
}

int write_jobs(const SearchArguments& arguments, const SearchPlan& plan, const CLI::App& parser) {
  const core::FolderLock lock(arguments.folder);
  begin_search(arguments.folder, identity(arguments), arguments.file);
  const JobArray array{.name = std::filesystem::path(arguments.jobs_file).stem(),
                       .working_folder = std::filesystem::current_path(),
                       .folder = arguments.folder,
                       .command = command_of_parts(arguments, parser),
                       .runs = run_names(plan),
                       .tasks = arguments.parts,
                       .ranks = std::max(1, arguments.ranks),
                       .cores_of_rank = std::max(1, arguments.host_threads)};
  core::replace_file(arguments.jobs_file, [&](std::ostream& file) { file << job_array_file(array); });
  fmt::print(
      "{} runs in {} tasks written to {}: submit it with sbatch{}, then rank them with --only-rank\n", array.runs.size(),
      array.tasks, core::printable(arguments.jobs_file),
      arguments.rungs.empty() ? "" : core::format(" {} times, each after the one before", arguments.rungs.size() + 1));
  return success;
}

int search_runs(SearchArguments& arguments, const CLI::App& parser) {
  check(arguments, parser);
  const Command runs = make_command(arguments.command);
  const search::Space space = read_space(arguments, *runs.parser);
  OptionUse use(parser);
  use.require(space.has_ranges(), {"draws", "draw-seed"}, "needs a range in the file, such as 0.01..1");
  use.check();
  SearchPlan plan = plan_of(arguments, space);
  const std::size_t all = plan.configurations.size() * plan.seeds.size();
  if (arguments.parts > all)
    throw core::ConfigError(core::format("the search has {} runs, too few for --parts {}", all, arguments.parts));
  if (arguments.parts == 0) arguments.parts = all;
  if (arguments.part > arguments.parts)
    throw core::ConfigError(
        core::format("there is no --part {}: the search has {} runs in {} parts", arguments.part, all, arguments.parts));
  if (use.given("write-jobs")) return write_jobs(arguments, plan, parser);
  if (arguments.only_rank || arguments.part > 0) check_same_search(arguments.folder, identity(arguments), arguments.file);
  if (arguments.only_rank) return Search(arguments, space, std::move(plan)).only_rank();
  plan.own = runs_of_part(std::max<std::size_t>(1, arguments.part), arguments.part > 0 ? arguments.parts : 1, all);
  if (arguments.part > 0) {
    const core::FolderLock lock(arguments.folder, plan.own);
    return Search(arguments, space, std::move(plan)).run_part();
  }
  const core::FolderLock lock(arguments.folder);
  begin_search(arguments.folder, identity(arguments), arguments.file);
  return Search(arguments, space, std::move(plan)).run();
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
      "paragrad search search.toml --draws 3 --rungs 1 --keep 0.5 --out searches/halving\n"
      "paragrad search search.toml --draws 3 --out searches/array --write-jobs array.sbatch");
  return {parser, [arguments, parser] { return search_runs(*arguments, *parser); }};
}

}  // namespace paragrad::app
