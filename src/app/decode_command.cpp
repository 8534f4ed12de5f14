#include <optional>

#include "app/scoring.hpp"
#include "core/errors.hpp"
#include "core/file_replacement.hpp"
#include "core/format.hpp"
#include "core/json.hpp"

namespace paragrad::app {
namespace {

std::string names_of(const speech::WordModels& models, const std::vector<std::size_t>& words) {
  std::string text;
  for (const std::size_t word : words) text += (text.empty() ? "" : " ") + models.word(word).name;
  return text;
}

bool is_loop(const std::string& grammar) {
  if (grammar == "one" || grammar == "loop") return grammar == "loop";
  throw core::unknown_name("grammar", grammar, {"one", "loop"});
}

/// What is said without the silence in it.
std::vector<std::size_t> spoken(std::vector<std::size_t> words, std::optional<std::size_t> silence) {
  if (silence) std::erase(words, *silence);
  return words;
}

}  // namespace

int decode_command(std::span<char*> argv) {
  ScoringArguments arguments;
  std::string subset = "test", grammar_name = "one", silence_name, result;
  speech::Grammar grammar;
  bool show = false;
  const auto parser =
      make_parser("paragrad decode", "Finds the words of utterances by the best path (Viterbi), and counts the errors.");
  add_scoring_options(*parser, arguments);
  parser->add_option("--subset", subset, "train, valid or test");
  parser->add_option("--grammar", grammar_name, "one word to an utterance, or a loop of words");
  parser->add_option("--insertion-score", grammar.insertion_score,
                     "added to the score for each word; below zero: fewer words");
  parser->add_option("--silence", silence_name, "a word (as pau) that is found like others, but not counted");
  parser->add_option("--result", result, "file for the numbers, as JSON");
  parser->add_flag("--show-errors", show, "a line for each utterance in error");
  if (const auto code = parse(*parser, argv)) return *code;

  grammar.loop = is_loop(grammar_name);
  const data::Subset which = parse_subset(subset);
  const Scorer scorer(arguments);
  const auto silence = silence_name.empty() ? std::nullopt : std::optional(scorer.words().find(silence_name));
  speech::WordErrors sum;
  std::size_t frame_errors = 0, frames = 0;
  for (const auto& utterance : scorer.score(which)) {
    const auto said = spoken(scorer.words().words_in(utterance.labels), silence);
    const auto found = spoken(speech::decode(utterance.scores, scorer.words(), grammar), silence);
    const auto errors = speech::word_errors(said, found);
    sum += errors;
    frame_errors += utterance.frame_errors;
    frames += utterance.labels.size();
    if (show && errors.errors() > 0)
      fmt::print("{}: {}, found {}\n", utterance.name, names_of(scorer.words(), said), names_of(scorer.words(), found));
  }
  const auto& info = scorer.dataset().info();
  if (frames == 0) throw core::ConfigError(core::format("'{}' has no utterances in its subset '{}'", info.path, subset));
  if (sum.words == 0) throw core::ConfigError(core::format("'{}' has only silence in its subset '{}'", info.path, subset));
  fmt::print(
      "{} of {} after sweep {}: word error {:.2f} % ({} of {}: {} substituted, {} deleted, {} inserted), frame error {:.2f} "
      "%\n",
      subset, info.name, scorer.sweep(), 100 * sum.rate(), sum.errors(), sum.words, sum.substitutions, sum.deletions,
      sum.insertions, 100 * static_cast<double>(frame_errors) / static_cast<double>(frames));
  if (!result.empty())
    core::replace_file(result, [&](std::ostream& out) {
      out << core::Json{{"subset", subset},
                        {"words", sum.words},
                        {"word_error", sum.rate()},
                        {"substitutions", sum.substitutions},
                        {"deletions", sum.deletions},
                        {"insertions", sum.insertions},
                        {"frame_error", static_cast<double>(frame_errors) / static_cast<double>(frames)}}
                 .dump(1)
          << "\n";
    });
  return success;
}

}  // namespace paragrad::app
