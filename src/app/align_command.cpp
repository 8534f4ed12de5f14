#include "app/option_use.hpp"
#include "app/scoring.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "data/relabel.hpp"

namespace paragrad::app {
namespace {

struct AlignArguments {
  ScoringArguments scoring;
  std::string out;
};

int align(const AlignArguments& arguments, const CLI::App& parser) {
  const Scorer scorer(arguments.scoring);
  OptionUse use(parser);
  require_recurrent(use, scorer.model());
  use.check();
  if (scorer.words().has_variants())
    throw core::ConfigError(
        core::format("'{}' has several classes for the same state, between which an alignment cannot choose",
                     scorer.dataset().info().path));
  data::Labels labels;
  std::size_t changed = 0, frames = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    for (const auto& utterance : scorer.score(static_cast<data::Subset>(i))) {
      const auto states = scorer.words().states_of(scorer.words().words_in(utterance.labels));
      if (states.size() > utterance.labels.size())
        throw core::ConfigError(core::format("the utterance '{}' has {} frames, too few for the {} states of its words",
                                             utterance.name, utterance.labels.size(), states.size()));
      const auto path = speech::align(utterance.scores, states);
      for (std::size_t t = 0; t < path.size(); ++t) changed += path[t] != utterance.labels[t];
      frames += path.size();
      labels[i].insert(labels[i].end(), path.begin(), path.end());
    }
  const auto info = data::relabel(scorer.dataset(), labels, arguments.out, "realigned");
  fmt::print("{}: {:.2f} % of {} frames have a different label\n", core::printable(arguments.out),
             100 * static_cast<double>(changed) / static_cast<double>(frames), frames);
  fmt::print("content sha256 {}\n", info.content_sha256);
  return success;
}

}  // namespace

Command align_command() {
  auto arguments = std::make_shared<AlignArguments>();
  auto parser = make_parser("align",
                            "Relabel the frames of words by forced alignment with a checkpoint's network.\n"
                            "The new labels are the states on the best path (Viterbi) through the words of each utterance.");
  add_scoring_options(*parser, arguments->scoring);
  parser->add_option("--out", arguments->out, "data file to write")->required();
  set_examples(
      *parser,
      "paragrad train --data digits.h5 --model 120-64-60:relu --learning-rate 0.02 --epochs 2 --quiet --out runs/digits\n"
      "paragrad align runs/digits/checkpoint.h5 --data digits.h5 --out digits-realigned.h5");
  return {parser, [arguments, parser] { return align(*arguments, *parser); }};
}

}  // namespace paragrad::app
