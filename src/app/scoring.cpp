#include "app/scoring.hpp"

#include <algorithm>

#include "app/number_options.hpp"
#include "app/shared_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/posteriors.hpp"

namespace paragrad::app {
namespace {

train::TrainingData open(const ScoringArguments& arguments, const train::Checkpoint& checkpoint) {
  train::TrainingOptions options = arguments.options;
  options.model = checkpoint.model;
  return train::open_evaluation_data(options, checkpoint, arguments.checkpoint);
}

std::vector<std::string> subset_names() { return {data::subset_names.begin(), data::subset_names.end()}; }

std::size_t most(std::span<const float> values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

}  // namespace

void add_checkpoint_options(CLI::App& parser, CheckpointArguments& arguments, const std::string& data_help) {
  parser.add_option("--data", arguments.options.data, data_help)->required();
  parser.add_option("--context", arguments.options.context,
                    "frames of context left and right that the network expects, such as 5+5 (default: as in the data file)");
  parser.add_option("--chunks", arguments.options.chunks,
                    "recurrent models: process whole sequences, or chunks such as 21-64+21 or, with overlap, 21-64+21/32");
  add_device_option(parser, arguments.device);
  add_sim_world_options(parser, arguments.world);
}

void require_used(OptionUse& use, const CheckpointArguments& arguments, const std::string& model) {
  if (!backend::make_device(arguments.device)->computes())
    throw core::ConfigError(
        core::format("the device '{}' counts work but computes nothing: choose cpu or reference", arguments.device));
  require_recurrent(use, model);
  require_world(use, arguments.world);
}

void add_scoring_options(CLI::App& parser, ScoringArguments& arguments) {
  parser.add_option("checkpoint", arguments.checkpoint, "checkpoint.h5 of a run")->required();
  add_checkpoint_options(parser, arguments, "data file whose classes are HMM states of words");
  add_number(parser, "--prior-scale", arguments.prior_scale, core::any_number,
             "factor of the training set's log class priors, which are subtracted from the log posteriors");
}

void add_subset_option(CLI::App& parser, std::string& subset) {
  parser.add_option("--subset", subset, "subset of the data file")->check(known_names(subset_names()));
}

data::Subset parse_subset(const std::string& name) {
  const std::vector<std::string> known = subset_names();
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] == name) return static_cast<data::Subset>(i);
  throw core::unknown_name("subset", name, known);
}

Scorer::Scorer(const ScoringArguments& arguments)
    : arguments_(arguments),
      checkpoint_(train::read_checkpoint(arguments.checkpoint)),
      source_(open(arguments, checkpoint_)),
      words_(source_.info.class_names) {
  for (std::size_t i = 0; i < 3; ++i)
    if (source_.info.samples[i] > 0 && source_.info.sequences[i] == 0)
      throw core::ConfigError("the data file '" + source_.info.path +
                              "' has no utterance boundaries, which this command needs");
}

std::vector<Scorer::Utterance> Scorer::score(comm::Worker& worker, const data::SampleStreamDecorator& decorate,
                                             data::Subset subset) const {
  const auto posteriors = train::log_posteriors(worker, {source_, decorate}, checkpoint_.parameters, subset);
  if (worker.rank() != 0) return {};
  const auto priors = words_.sum_variants(train::log_priors(dataset()));
  const auto offsets = dataset().offsets(subset);
  const auto names = dataset().utterances(subset);
  const std::size_t classes = words_.classes();
  std::vector<Utterance> result;
  for (std::size_t u = 0; u + 1 < offsets.size(); ++u) {
    const auto begin = static_cast<std::size_t>(offsets[u]), frames = static_cast<std::size_t>(offsets[u + 1]) - begin;
    Utterance utterance{names.empty() ? std::string_view{} : names[u], {}, {frames, words_.states()}};
    for (std::size_t t = 0; t < frames; ++t) {
      const auto row = std::span(posteriors).subspan((begin + t) * classes, classes);
      utterance.labels.push_back(dataset().label(subset, begin + t));
      utterance.frame_errors += most(row) != static_cast<std::size_t>(utterance.labels.back());
      const auto states = words_.sum_variants(std::vector<double>(row.begin(), row.end()));
      for (std::size_t s = 0; s < states.size(); ++s)
        utterance.scores.row(t)[s] = static_cast<float>(states[s] - arguments_.prior_scale * priors[s]);
    }
    result.push_back(std::move(utterance));
  }
  return result;
}

}  // namespace paragrad::app
