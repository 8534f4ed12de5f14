#include "search/run_words.hpp"

#include "cli/described_options.hpp"
#include "core/format.hpp"
#include "runs/any_world_arguments.hpp"

namespace paragrad::search {
namespace {

constexpr std::size_t only_after_each_epoch = 100000000;  // blocks

}  // namespace

std::vector<std::string> words_of_run(const SearchPlan& plan, const Values& values, std::uint64_t seed,
                                      const std::string& folder, bool resumes) {
  std::vector<std::string> words{plan.command};
  for (const auto& [option, value] : values) words.push_back(core::format("--{}={}", option, with_seed(value, seed)));
  runs::AnyWorldArguments run;
  run.training.options.seed = seed;
  run.training.quiet = true;
  run.training.out = folder;
  (resumes ? run.training.resume : run.training.overwrite) = true;
  run.world.host_threads = plan.host_threads;
  if (plan.pauses) run.training.checkpoint_every = only_after_each_epoch;
  for (const core::OptionInfo& set : cli::given_in(run))
    if (!values.contains(set.name)) words.push_back(cli::word_of(set));
  return words;
}

std::set<std::string> options_set_by_search() {
  runs::AnyWorldArguments run;
  run.training.options.seed += 1;
  run.training.quiet = run.training.resume = run.training.overwrite = true;
  run.training.out = "a folder";
  run.world.host_threads = 1;
  std::set<std::string> names;
  for (const core::OptionInfo& set : cli::given_in(run)) names.insert(set.name);
  return names;
}

}  // namespace paragrad::search
