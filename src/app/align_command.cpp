#include <optional>

#include "app/commands.hpp"
#include "app/scoring.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "data/relabel.hpp"
#include "system/file_replacement.hpp"

namespace paragrad::app {
namespace {

struct AlignArguments : ScoringArguments {
  std::string out;

  void describe(core::OptionList& list) {
    ScoringArguments::describe(list);
    list.text("out", out, "data file to write").path().required();
  }
};

/// The workers compute posteriors together; worker 0 aligns.
class Alignment : public worlds::Job {
 public:
  Alignment(AlignArguments& arguments, const CLI::App& parser) : arguments_(arguments), parser_(parser) {}

  void prepare(const worlds::Process&) override;
  std::size_t row_bytes() const override { return scorer_->row_bytes(); }
  worlds::RankFacts facts() const override { return scorer_->facts(); }
  void work(comm::Worker& worker, const worlds::AddedTime& added) override;
  void finish(const core::Json& world) override;

 private:
  void add(const Scorer::Utterance& utterance, std::vector<std::int32_t>& labels);

  AlignArguments& arguments_;
  const CLI::App& parser_;
  std::optional<Scorer> scorer_;
  data::Labels labels_;
  std::size_t changed_ = 0, frames_ = 0;
};

void Alignment::prepare(const worlds::Process& process) {
  if (process.leads()) system::require_replaceable(arguments_.out);
  scorer_.emplace(arguments_);
  use_with(scorer_->model(), parser_, arguments_);
  if (scorer_->words().has_variants())
    throw core::ConfigError(
        core::format("'{}' has several classes for the same state, between which an alignment cannot choose",
                     scorer_->dataset().info().path));
}

void Alignment::work(comm::Worker& worker, const worlds::AddedTime& added) {
  for (std::size_t i = 0; i < labels_.size(); ++i)
    for (const auto& utterance : scorer_->score(worker, added.reading, static_cast<data::Subset>(i)))
      add(utterance, labels_[i]);
}

void Alignment::add(const Scorer::Utterance& utterance, std::vector<std::int32_t>& labels) {
  const auto states = scorer_->words().states_of(scorer_->words().words_in(utterance.labels));
  if (states.size() > utterance.labels.size())
    throw core::ConfigError(core::format("the utterance '{}' has {} frames, too few for the {} states of its words",
                                         utterance.name, utterance.labels.size(), states.size()));
  const auto path = speech::align(utterance.scores, states);
  for (std::size_t t = 0; t < path.size(); ++t) changed_ += path[t] != utterance.labels[t];
  frames_ += path.size();
  labels.insert(labels.end(), path.begin(), path.end());
}

void Alignment::finish(const core::Json& world) {
  const auto info = data::relabel(scorer_->dataset(), labels_, arguments_.out, "realigned");
  fmt::print("{}: {:.2f} % of {} frames have a different label\n", core::printable(arguments_.out),
             100 * static_cast<double>(changed_) / static_cast<double>(frames_), frames_);
  worlds::print_simulated_time(world);
  fmt::print("content sha256 {}\n", info.content_sha256);
}

}  // namespace

cli::Command align_command() {
  return job_command<Alignment, AlignArguments>(
      {.name = "align",
       .description = "Relabel the frames of words by forced alignment with a checkpoint's network.\n"
                      "The new labels are the states on the best path (Viterbi) through the words of each utterance.",
       .examples = "paragrad train --data digits.h5 --model 120-64-60:relu --learning-rate 0.02 --epochs 2 --quiet --out "
                   "runs/digits\n"
                   "paragrad align runs/digits/checkpoint.h5 --data digits.h5 --out digits-realigned.h5"});
}

}  // namespace paragrad::app
