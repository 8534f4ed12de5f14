#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "app/commands.hpp"
#include "app/program_parser.hpp"
#include "backend/device.hpp"
#include "cli/described_options.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "search/job_array.hpp"
#include "search/run_words.hpp"
#include "search/search.hpp"
#include "search/search_file.hpp"
#include "search/search_identity.hpp"
#include "system/cores.hpp"
#include "system/file_replacement.hpp"
#include "system/folder_lock.hpp"
#include "system/own_program.hpp"

namespace paragrad::app {
namespace {

search::SearchPlan plan_of(const search::SearchArguments& arguments, const search::Methods& methods) {
  search::SearchPlan plan;
  plan.command = arguments.command;
  plan.folder = arguments.folder;
  plan.configurations = methods.configurations(arguments.draws, arguments.draw_seed);
  plan.seeds = arguments.seeds;
  plan.ranks = arguments.ranks;
  plan.pauses = !arguments.rungs.empty();
  const int cores = system::available_cores();
  plan.jobs = arguments.jobs > 0 ? arguments.jobs : std::max(1, cores / std::max(1, arguments.ranks));
  if (arguments.command == "simulate")
    plan.host_threads = arguments.host_threads > 0 ? arguments.host_threads : std::max(1, cores / plan.jobs);
  return plan;
}

/// Empty if the command can read these options and combine them.
std::string refusal(const std::string& command, const search::SearchPlan& plan, const search::Values& values) {
  std::vector<std::string> words =
      search::words_of_run({.command = command, .pauses = plan.pauses}, values, plan.seeds[0], "of-a-run", false);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  try {
    const cli::Command made = make_command(command);
    cli::parse(*made.parser, std::span(arguments).subspan(1));
    made.check();
    return "";
  } catch (const core::ConfigError& error) {
    return cli::with_flags(error.what());
  }
}

/// Throws ConfigError, once for all runs and before the first begins, if the command cannot read the options of a run, or
/// cannot combine them.
void check_command_lines(const search::SearchArguments& arguments, const search::SearchPlan& plan) {
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    const auto& [values, method] = plan.configurations[i];
    const std::string error = refusal(plan.command, plan, values);
    if (error.empty()) continue;
    const auto takes_them = [&](const std::string& command) {
      return command != plan.command && refusal(command, plan, values).empty();
    };
    const auto other = std::ranges::find_if(search::searchable_commands, takes_them);
    std::string advice;
    if (other != search::searchable_commands.end())
      advice = core::format("; for runs of paragrad {0}, give --command {0}", *other);
    else if (method.empty() && i > 0)  // others have been read
      advice = "; to compare methods with different options, give each a [[run]] of its own";
    throw core::ConfigError(core::format("'{}', configuration {:03}{}: {}{}", core::printable(arguments.file), i + 1,
                                         method.empty() ? "" : core::format(" ({})", core::printable(method)), error,
                                         advice));
  }
}

void check(const search::SearchArguments& arguments) {
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
std::vector<std::string> command_of_parts(search::SearchArguments arguments) {
  arguments.jobs_file.clear();
  arguments.jobs = 1;
  if (arguments.command == "simulate" && arguments.host_threads == 0) arguments.host_threads = 1;
  std::vector<std::string> command{system::own_program(), "search"};
  for (const core::OptionInfo& given : cli::given_in(arguments)) command.push_back(cli::word_of(given));
  command.push_back("--part");
  return command;
}

int write_jobs(const search::SearchArguments& arguments, const search::SearchPlan& plan) {
  const system::FolderLock lock(arguments.folder);
  search::begin_search(arguments.folder, search::search_identity(arguments, plan), arguments.file);
  const search::JobArray array{.name = std::filesystem::path(arguments.jobs_file).stem(),
                               .working_folder = std::filesystem::current_path(),
                               .folder = arguments.folder,
                               .command = command_of_parts(arguments),
                               .runs = search::run_names(plan),
                               .tasks = arguments.parts,
                               .ranks = std::max(1, arguments.ranks),
                               .cores_of_rank = std::max(1, arguments.host_threads)};
  system::replace_file(arguments.jobs_file, [&](std::ostream& file) { file << search::job_array_file(array); });
  fmt::print(
      "{} runs in {} tasks written to {}: submit it with sbatch{}, then rank them with --only-rank\n", array.runs.size(),
      array.tasks, core::printable(arguments.jobs_file),
      arguments.rungs.empty() ? "" : core::format(" {} times, each after the one before", arguments.rungs.size() + 1));
  return cli::success;
}

/// Whether a run of these options computes nothing, so that it has a time, but no error.
bool only_times(const search::Configuration& configuration) {
  const auto device = configuration.values.find("device");
  return device != configuration.values.end() && !backend::device_computes(device->second);
}

int search_runs(search::SearchArguments& arguments, const CLI::App& parser) {
  check(arguments);
  const cli::Command runs = make_command(arguments.command);
  const search::Methods methods = search::read_methods(arguments.file, runs);
  arguments.has_ranges = methods.has_ranges();
  cli::use_of(parser, arguments).check();
  search::SearchPlan plan = plan_of(arguments, methods);
  const bool timed = std::ranges::all_of(plan.configurations, only_times);
  if (timed && !arguments.rungs.empty())
    throw core::ConfigError("--rungs pauses runs, which timing runs cannot be: leave it out");
  if (!arguments.only_rank) check_command_lines(arguments, plan);
  if (arguments.measure == "auto") arguments.measure = timed ? "training_s" : "valid_error";
  const std::size_t all = plan.configurations.size() * plan.seeds.size();
  if (arguments.parts > all)
    throw core::ConfigError(core::format("the search has {} runs, too few for --parts {}", all, arguments.parts));
  if (arguments.parts == 0) arguments.parts = all;
  if (arguments.part > arguments.parts)
    throw core::ConfigError(
        core::format("there is no --part {}: the search has {} runs in {} parts", arguments.part, all, arguments.parts));
  if (!arguments.jobs_file.empty()) return write_jobs(arguments, plan);
  if (arguments.only_rank || arguments.part > 0)
    search::check_same_search(arguments.folder, search::search_identity(arguments, plan), arguments.file);
  if (arguments.only_rank) return search::rank_search(arguments, methods, std::move(plan));
  plan.own = runs_of_part(std::max<std::size_t>(1, arguments.part), arguments.part > 0 ? arguments.parts : 1, all);
  if (arguments.part > 0) {
    const system::FolderLock lock(arguments.folder, plan.own);
    return search::run_part_of_search(arguments, methods, std::move(plan));
  }
  const system::FolderLock lock(arguments.folder);
  search::begin_search(arguments.folder, search::search_identity(arguments, plan), arguments.file);
  return search::run_search(arguments, methods, std::move(plan));
}

}  // namespace

cli::Command search_command() {
  return cli::command_of<search::SearchArguments>(
      {.name = "search",
       .description = "Run a grid of options, random draws and seeds, several runs at a time, and rank the configurations.\n"
                      "Methods that need different options are compared with [[run]] in the file, each at its own best.\n"
                      "If it is interrupted, the same command continues it: finished runs are not run again.",
       .examples = "printf 'data = \"frames.h5\"\\nmodel = \"40-64-120:relu\"\\nepochs = 2\\nworkers = 4\\nplatform = "
                   "\"k40m-fdr\"\\n"
                   "strategy = [\"bmuf\", \"model_averaging\"]\\nlearning-rate = \"0.01..0.3 log\"\\n' > search.toml\n"
                   "paragrad search search.toml --draws 3 --seeds 1,2 --out searches/grid\n"
                   "paragrad search search.toml --draws 3 --rungs 1 --keep 0.5 --out searches/halving\n"
                   "paragrad search search.toml --draws 3 --out searches/array --write-jobs array.sbatch\n"
                   "printf 'data = \"frames.h5\"\\nmodel = \"40-64-120:relu\"\\nepochs = 2\\nworkers = 4\\nplatform = "
                   "\"k40m-fdr\"\\n"
                   "[[run]]\\nname = \"BMUF\"\\nstrategy = \"bmuf\"\\nlearning-rate = [0.02, 0.05]\\n"
                   "[[run]]\\nname = \"1 bit\"\\nstrategy = \"data_parallel\"\\ngradient-bits = 1\\nlearning-rate = [0.05, "
                   "0.1]\\n' > methods.toml\n"
                   "paragrad search methods.toml --seeds 1,2 --out searches/methods"},
      [](search::SearchArguments& arguments, const CLI::App& parser) { return search_runs(arguments, parser); });
}

}  // namespace paragrad::app
