#pragma once

#include <string>
#include <vector>

#include "cli/described_options.hpp"
#include "cli/option_use.hpp"
#include "speech/viterbi.hpp"
#include "train/input/training_data.hpp"
#include "train/state/checkpoint.hpp"
#include "worlds/sim_world.hpp"

namespace paragrad::app {

/// Throws ConfigError for a device that only counts.
void require_computing(const std::string& device);

/// Options of the commands that apply the networks of checkpoints to a data file, on one or more workers.
struct CheckpointArguments {
  train::TrainingOptions options;  // data, context, chunks
  std::string device = "cpu";
  worlds::SimWorldArguments world;

  void describe(core::OptionList& list);
};

/// The use of a command's options with a checkpoint's model. Throws ConfigError for options that this model or the world
/// does not use, and for a device that does not compute.
template <class Arguments>
cli::OptionUse use_with(const std::string& model, const CLI::App& parser, Arguments& arguments) {
  require_computing(arguments.device);
  arguments.options.model = model;
  const cli::OptionUse use = cli::use_of(parser, arguments);
  use.check();
  return use;
}

/// A command that does a job with a checkpoint. Job: is made of (Arguments&, const CLI::App&).
template <class Job, class Arguments>
cli::Command job_command(const cli::CommandText& text) {
  return cli::command_of<Arguments>(text, [](Arguments& arguments, const CLI::App& parser) {
    Job job(arguments, parser);
    return worlds::make_world(worlds::facts_of(parser.get_name(), arguments), arguments.world, arguments.device)->run(job);
  });
}

/// Of `align` and `decode`.
struct ScoringArguments : CheckpointArguments {
  std::string checkpoint;
  double prior_scale = 1;

  void describe(core::OptionList& list);
};

/// The options of several commands that choose a subset, and the file for a result.
void describe_subset(core::OptionList& list, std::string& subset);
core::DescribedOption describe_result(core::OptionList& list, std::string& file);

/// Turns a data file's frames into scores for hidden Markov models of words: a network's posteriors, divided by the class
/// priors of the file's training labels.
class Scorer {
 public:
  /// Throws ConfigError for a model that does not fit the data, or data that are not utterances of words.
  explicit Scorer(const ScoringArguments& arguments);

  std::size_t row_bytes() const { return source_.info.bytes_to_read(); }
  const data::Dataset& dataset() const { return *source_.dataset; }
  worlds::RankFacts facts() const { return worlds::facts_of(source_.info, checkpoint_); }
  const speech::WordModels& words() const { return words_; }
  const std::string& model() const { return checkpoint_.model; }
  std::uint64_t epoch() const { return checkpoint_.epoch; }

  /// An utterance of a subset: its labels, and the log posteriors of states minus prior_scale times their log priors.
  struct Utterance {
    std::string_view name;  ///< empty if unknown
    std::vector<std::int32_t> labels;
    speech::Scores scores;
    std::size_t frame_errors = 0;  ///< frames whose most probable class is not the label
  };

  /// Collective: the workers compute the posteriors together. Returns the utterances on worker 0, and none on the others.
  std::vector<Utterance> score(comm::Worker& worker, const data::SampleStreamDecorator& decorate, data::Subset subset) const;

 private:
  const ScoringArguments& arguments_;
  train::Checkpoint checkpoint_;
  train::TrainingData source_;
  speech::WordModels words_;
};

data::Subset parse_subset(const std::string& name);  ///< throws ConfigError

}  // namespace paragrad::app
