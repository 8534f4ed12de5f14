#include <algorithm>
#include <optional>

#include "app/number_options.hpp"
#include "app/option_use.hpp"
#include "app/scoring.hpp"
#include "core/errors.hpp"
#include "core/file_replacement.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"

namespace paragrad::app {
namespace {

std::string names_of(const speech::WordModels& models, const std::vector<std::size_t>& words) {
  std::string text;
  for (const std::size_t word : words) text += (text.empty() ? "" : " ") + models.word(word).name;
  return text;
}

const std::vector<std::string> grammars{"one", "loop"};

bool is_loop(const std::string& grammar) {
  if (std::ranges::find(grammars, grammar) == grammars.end()) throw core::unknown_name("grammar", grammar, grammars);
  return grammar == "loop";
}

struct DecodeArguments {
  ScoringArguments scoring;
  std::string subset = "test";
  std::string grammar = "one";
  double insertion_score = 0;
  std::string silence;  // "": none
  std::string result;   // "": no file
  bool show_errors = false;
};

void add_options(CLI::App& parser, DecodeArguments& arguments) {
  add_scoring_options(parser, arguments.scoring);
  add_subset_option(parser, arguments.subset);
  parser.add_option("--grammar", arguments.grammar, "grammar: one word per utterance, or a loop of any number of words")
      ->check(known_names(grammars));
  add_number(parser, "--insertion-score", arguments.insertion_score, core::any_number,
             "score added for each word; negative values give fewer words");
  parser.add_option("--silence", arguments.silence, "word for silence, such as pau, which is recognised but not counted");
  parser.add_option("--result", arguments.result, "file to write the result to, as JSON");
  parser.add_flag("--show-errors", arguments.show_errors, "print a line for each utterance with errors");
}

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

Found find_words(const Scorer& scorer, const DecodeArguments& arguments) {
  const speech::Grammar grammar{is_loop(arguments.grammar), arguments.insertion_score};
  const speech::WordModels& models = scorer.words();
  const auto silence = arguments.silence.empty() ? std::nullopt : std::optional(models.find(arguments.silence));
  Found sum;
  for (const auto& utterance : scorer.score(parse_subset(arguments.subset))) {
    const auto said = spoken(models.words_in(utterance.labels), silence);
    const auto found = spoken(speech::decode(utterance.scores, models, grammar), silence);
    const auto errors = speech::word_errors(said, found);
    sum.words += errors;
    sum.frame_errors += utterance.frame_errors;
    sum.frames += utterance.labels.size();
    if (arguments.show_errors && errors.errors() > 0)
      fmt::print("{}: {}, found {}\n", core::printable(utterance.name), core::printable(names_of(models, said)),
                 core::printable(names_of(models, found)));
  }
  return sum;
}

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

int decode(const DecodeArguments& arguments, const CLI::App& parser) {
  const std::string& subset = arguments.subset;
  // Checked before anything is read.
  parse_subset(subset);
  is_loop(arguments.grammar);
  const Scorer scorer(arguments.scoring);
  OptionUse use(parser);
  require_recurrent(use, scorer.model());
  use.require(is_loop(arguments.grammar), {"insertion-score"}, "applies to a loop of words only: give --grammar loop too");
  use.check();
  const Found found = find_words(scorer, arguments);
  const speech::WordErrors& words = found.words;
  const auto& info = scorer.dataset().info();
  if (found.frames == 0)
    throw core::ConfigError(core::format("'{}' has no utterances in the subset '{}'", info.path, subset));
  if (words.words == 0) throw core::ConfigError(core::format("'{}' has only silence in the subset '{}'", info.path, subset));
  fmt::print(
      "{} of {} after epoch {}: word error {:.2f} % ({} of {}: {} substituted, {} deleted, {} inserted), frame error {:.2f} "
      "%\n",
      subset, core::printable(info.name), scorer.epoch(), 100 * words.rate(), words.errors(), words.words,
      words.substitutions, words.deletions, words.insertions, 100 * found.frame_error());
  if (!arguments.result.empty())
    core::replace_file(arguments.result,
                       [&](std::ostream& out) { out << core::text_of(record_of(found, subset), 1) << "\n"; });
  return success;
}

}  // namespace

Command decode_command() {
  auto arguments = std::make_shared<DecodeArguments>();
  auto parser = make_parser("decode",
                            "Recognise words with a checkpoint's network and count the errors.\n"
                            "The recognised words are those on the best path (Viterbi).");
  add_options(*parser, *arguments);
  set_examples(*parser,
               "paragrad decode runs/digits/checkpoint.h5 --data digits.h5\n"
               "paragrad decode runs/digits/checkpoint.h5 --data digits.h5 --subset valid --grammar loop --show-errors");
  return {parser, [arguments, parser] { return decode(*arguments, *parser); }};
}

}  // namespace paragrad::app
