#include "app/scoring.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/posteriors.hpp"
#include "worlds/shared_options.hpp"

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

void require_computing(const std::string& device) {
  if (!backend::make_device(device)->computes())
    throw core::ConfigError(
        core::format("the device '{}' counts work but computes nothing: choose cpu or reference", device));
}

void CheckpointArguments::describe(core::OptionList& list) {
  options.describe_samples(list);
  list.described("data").required();
  worlds::describe_device(list, device);
  world.describe(list, true);
  list.group("");
}

void ScoringArguments::describe(core::OptionList& list) {
  list.argument("checkpoint", checkpoint, "checkpoint.h5 of a run").path().required();
  CheckpointArguments::describe(list);
  list.number("prior-scale", prior_scale, core::any_number,
              "factor of the training set's log class priors, which are subtracted from the log posteriors");
}

void describe_subset(core::OptionList& list, std::string& subset) {
  list.choice("subset", subset, subset_names(), "subset of the data file");
}

core::DescribedOption describe_result(core::OptionList& list, std::string& file) {
  return list.text("result", file, "file to write the result to, as JSON").path();
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
