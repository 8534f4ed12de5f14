#include <algorithm>
#include <optional>

#include "app/commands.hpp"
#include "app/scoring.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "system/file_replacement.hpp"

namespace paragrad::app {
namespace {

std::string names_of(const speech::WordModels& models, const std::vector<std::size_t>& words) {
  std::string text;
  for (const std::size_t word : words) text += (text.empty() ? "" : " ") + models.word(word).name;
  return text;
}

struct DecodeArguments : ScoringArguments {
  std::string subset = "test";
  std::string grammar = "one";
  double insertion_score = 0;
  std::string silence;  // "": none
  std::string result;   // "": no file
  bool show_errors = false;

  void describe(core::OptionList& list) {
    ScoringArguments::describe(list);
    describe_subset(list, subset);
    list.choice("grammar", grammar, {"one", "loop"}, "grammar: one word per utterance, or a loop of any number of words");
    list.number("insertion-score", insertion_score, core::any_number,
                "score added for each word; negative values give fewer words")
        .when(is_loop(), "applies to a loop of words only: give `grammar` loop too");
    list.text("silence", silence, "word for silence, such as pau, which is recognised but not counted");
    describe_result(list, result);
    list.flag("show-errors", show_errors, "print a line for each utterance with errors");
  }
  bool is_loop() const { return grammar == "loop"; }
};

/// The words without silence.
std::vector<std::size_t> spoken(std::vector<std::size_t> words, std::optional<std::size_t> silence) {
  if (silence) std::erase(words, *silence);
  return words;
}

/// Totals over all utterances of a subset.
struct Found {
  speech::WordErrors words;
  std::size_t frame_errors = 0;
  std::size_t frames = 0;

  double frame_error() const { return static_cast<double>(frame_errors) / static_cast<double>(frames); }
};

core::Json record_of(const Found& found, const std::string& subset) {
  const speech::WordErrors& words = found.words;
  return {{"subset", subset},
          {"words", words.words},
          {"word_error", words.rate()},
          {"substitutions", words.substitutions},
          {"deletions", words.deletions},
          {"insertions", words.insertions},
          {"frame_error", found.frame_error()}};
}

/// The workers compute posteriors together; worker 0 searches.
class Decoding : public worlds::Job {
 public:
  Decoding(DecodeArguments& arguments, const CLI::App& parser) : arguments_(arguments), parser_(parser) {}

  void prepare(const worlds::Process&) override;
  std::size_t row_bytes() const override { return scorer_->row_bytes(); }
  worlds::RankFacts facts() const override { return scorer_->facts(); }
  void work(comm::Worker& worker, const worlds::AddedTime& added) override;
  void finish(const core::Json& world) override;

 private:
  void add(const Scorer::Utterance& utterance);

  DecodeArguments& arguments_;
  const CLI::App& parser_;
  std::optional<Scorer> scorer_;
  std::optional<std::size_t> silence_;
  Found found_;
};

void Decoding::prepare(const worlds::Process& process) {
  scorer_.emplace(arguments_);
  use_with(scorer_->model(), parser_, arguments_);
  if (process.leads()) system::require_replaceable(arguments_.result);
  if (!arguments_.silence.empty()) silence_ = scorer_->words().find(arguments_.silence);
}

void Decoding::work(comm::Worker& worker, const worlds::AddedTime& added) {
  for (const auto& utterance : scorer_->score(worker, added.reading, parse_subset(arguments_.subset))) add(utterance);
}

void Decoding::add(const Scorer::Utterance& utterance) {
  const speech::WordModels& models = scorer_->words();
  const speech::Grammar grammar{arguments_.is_loop(), arguments_.insertion_score};
  const auto said = spoken(models.words_in(utterance.labels), silence_);
  const auto found = spoken(speech::decode(utterance.scores, models, grammar), silence_);
  const auto errors = speech::word_errors(said, found);
  found_.words += errors;
  found_.frame_errors += utterance.frame_errors;
  found_.frames += utterance.labels.size();
  if (arguments_.show_errors && errors.errors() > 0)
    fmt::print("{}: {}, found {}\n", core::printable(utterance.name), core::printable(names_of(models, said)),
               core::printable(names_of(models, found)));
}

void Decoding::finish(const core::Json& world) {
  const std::string& subset = arguments_.subset;
  const speech::WordErrors& words = found_.words;
  const auto& info = scorer_->dataset().info();
  if (found_.frames == 0)
    throw core::ConfigError(core::format("'{}' has no utterances in the subset '{}'", info.path, subset));
  if (words.words == 0) throw core::ConfigError(core::format("'{}' has only silence in the subset '{}'", info.path, subset));
  fmt::print(
      "{} of {} after epoch {}: word error {:.2f} % ({} of {}: {} substituted, {} deleted, {} inserted), frame error {:.2f} "
      "%\n",
      subset, core::printable(info.name), scorer_->epoch(), 100 * words.rate(), words.errors(), words.words,
      words.substitutions, words.deletions, words.insertions, 100 * found_.frame_error());
  worlds::print_simulated_time(world);
  if (!arguments_.result.empty())
    system::replace_file(arguments_.result,
                         [&](std::ostream& out) { out << core::text_of(record_of(found_, subset), 1) << "\n"; });
}

}  // namespace

cli::Command decode_command() {
  return job_command<Decoding, DecodeArguments>(
      {.name = "decode",
       .description = "Recognise words with a checkpoint's network and count the errors.\n"
                      "The recognised words are those on the best path (Viterbi).",
       .examples =
           "paragrad decode runs/digits/checkpoint.h5 --data digits.h5\n"
           "paragrad decode runs/digits/checkpoint.h5 --data digits.h5 --subset valid --grammar loop --show-errors"});
}

}  // namespace paragrad::app
