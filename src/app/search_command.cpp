#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "app/commands.hpp"
#include "app/program_parser.hpp"
#include "cli/config_file.hpp"
#include "cli/described_options.hpp"
#include "cli/flat_toml.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "search/job_array.hpp"
#include "search/run_words.hpp"
#include "search/search.hpp"
#include "search/search_identity.hpp"
#include "system/cores.hpp"
#include "system/file_replacement.hpp"
#include "system/files.hpp"
#include "system/folder_lock.hpp"
#include "system/own_program.hpp"

namespace paragrad::app {
namespace {

/// "; the search has --seeds", where it has an option for what it sets itself.
std::string instead_of(const std::string& option) {
  search::SearchArguments arguments;
  core::OptionList list;
  arguments.describe(list);
  for (const core::OptionInfo& info : list.infos())
    if (info.name == option || info.name == option + "s") return core::format("; the search has --{}", info.name);
  return "";
}

search::Space read_space(const search::SearchArguments& arguments, CLI::App& runs) {
  search::Space space;
  const std::set<std::string> own = search::options_set_by_search();
  for (const cli::ConfigEntry& entry : cli::read_flat_toml(system::read_text(arguments.file), arguments.file)) {
    if (own.contains(entry.key) || runs.get_config_ptr()->check_lname(entry.key))
      throw entry.error(core::format("'{}' is set by the search{}", entry.key, instead_of(entry.key)));
    cli::option_of(runs, entry);
    space.add(entry.key, entry.values);
  }
  return space;
}

search::SearchPlan plan_of(const search::SearchArguments& arguments, const search::Space& space) {
  search::SearchPlan plan;
  plan.command = arguments.command;
  plan.folder = arguments.folder;
  plan.configurations = space.configurations(arguments.draws, arguments.draw_seed);
  plan.seeds = arguments.seeds;
  plan.ranks = arguments.ranks;
  plan.pauses = !arguments.rungs.empty();
  const int cores = system::available_cores();
  plan.jobs = arguments.jobs > 0 ? arguments.jobs : std::max(1, cores / std::max(1, arguments.ranks));
  if (arguments.command == "simulate")
    plan.host_threads = arguments.host_threads > 0 ? arguments.host_threads : std::max(1, cores / plan.jobs);
  return plan;
}

/// Empty if the command can read these options.
std::string parse_error(const std::string& command, const search::Values& values, std::uint64_t seed) {
  std::vector<std::string> words = search::words_of_run({.command = command}, values, seed, "of-a-run", false);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  try {
    cli::parse(*make_command(command).parser, std::span(arguments).subspan(1));
    return "";
  } catch (const core::ConfigError& error) {
    return error.what();
  }
}

/// Throws ConfigError, once for all runs and before the first begins, if the command cannot read the options of a run.
void check_command_lines(const search::SearchArguments& arguments, const search::SearchPlan& plan) {
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    const std::string error = parse_error(plan.command, plan.configurations[i], plan.seeds[0]);
    if (error.empty()) continue;
    const auto can_be_read = [&](const std::string& command) {
      return command != plan.command && parse_error(command, plan.configurations[i], plan.seeds[0]).empty();
    };
    const auto other = std::ranges::find_if(search::searchable_commands, can_be_read);
    const std::string run = plan.configurations.size() > 1 ? core::format(" of configuration {:03}", i + 1) : "";
    throw core::ConfigError(core::format("'{}': paragrad {} cannot read the options{}: {}{}", arguments.file, plan.command,
                                         run, error,
                                         other == search::searchable_commands.end()
                                             ? std::string()
                                             : core::format("; for runs of paragrad {0}, give --command {0}", *other)));
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

int search_runs(search::SearchArguments& arguments, const CLI::App& parser) {
  check(arguments);
  const cli::Command runs = make_command(arguments.command);
  const search::Space space = read_space(arguments, *runs.parser);
  arguments.has_ranges = space.has_ranges();
  cli::use_of(parser, arguments).check();
  search::SearchPlan plan = plan_of(arguments, space);
  check_command_lines(arguments, plan);
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
  if (arguments.only_rank) return search::rank_search(arguments, space, std::move(plan));
  plan.own = runs_of_part(std::max<std::size_t>(1, arguments.part), arguments.part > 0 ? arguments.parts : 1, all);
  if (arguments.part > 0) {
    const system::FolderLock lock(arguments.folder, plan.own);
    return search::run_part_of_search(arguments, space, std::move(plan));
  }
  const system::FolderLock lock(arguments.folder);
  search::begin_search(arguments.folder, search::search_identity(arguments, plan), arguments.file);
  return search::run_search(arguments, space, std::move(plan));
}

}  // namespace

cli::Command search_command() {
  return cli::command_of<search::SearchArguments>(
      {.name = "search",
       .description = "Run a grid of options, random draws and seeds, several runs at a time, and rank the configurations.\n"
                      "If it is interrupted, the same command continues it: finished runs are not run again.",
       .examples = "printf 'data = \"frames.h5\"\\nmodel = \"40-64-120:relu\"\\nepochs = 2\\nworkers = 4\\nplatform = "
                   "\"k40m-fdr\"\\n"
                   "strategy = [\"bmuf\", \"model_averaging\"]\\nlearning-rate = \"0.01..0.3 log\"\\n' > search.toml\n"
                   "paragrad search search.toml --draws 3 --seeds 1,2 --out searches/grid\n"
                   "paragrad search search.toml --draws 3 --rungs 1 --keep 0.5 --out searches/halving\n"
                   "paragrad search search.toml --draws 3 --out searches/array --write-jobs array.sbatch"},
      [](search::SearchArguments& arguments, const CLI::App& parser) { return search_runs(arguments, parser); });
}

}  // namespace paragrad::app
