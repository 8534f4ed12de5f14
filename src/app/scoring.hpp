#pragma once

#include <memory>
#include <string>

#include "app/command.hpp"
#include "speech/viterbi.hpp"
#include "train/input/training_data.hpp"
#include "train/state/checkpoint.hpp"

namespace paragrad::app {

/// Options shared by `align` and `decode`.
struct ScoringArguments {
  std::string checkpoint;
  train::TrainingOptions options;  // data, chunks
  std::string device = "cpu";
  double prior_scale = 1;
};

void add_scoring_options(CLI::App& parser, ScoringArguments& arguments);

void add_subset_option(CLI::App& parser, std::string& subset);

/// Turns a data file's frames into scores for hidden Markov models of words: a network's posteriors, divided by the class
/// priors of the file's training labels.
class Scorer {
 public:
  /// Throws ConfigError for a model that does not fit the data, or data that are not utterances of words.
  explicit Scorer(const ScoringArguments& arguments);

  const data::Dataset& dataset() const { return *source_.dataset; }
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
  std::vector<Utterance> score(data::Subset subset) const;

 private:
  const ScoringArguments& arguments_;
  train::Checkpoint checkpoint_;
  train::TrainingData source_;
  speech::WordModels words_;
  std::unique_ptr<backend::Device> device_;
};

data::Subset parse_subset(const std::string& name);  ///< throws ConfigError

}  // namespace paragrad::app
