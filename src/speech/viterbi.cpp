#include "speech/viterbi.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace paragrad::speech {
namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

void check_room(std::size_t states, std::size_t frames) {
  if (states == 0 || frames < states) throw std::logic_error("an alignment needs a frame for each state");
}

}  // namespace

std::vector<std::int32_t> align_uniformly(std::span<const std::int32_t> states, std::size_t frames) {
  check_room(states.size(), frames);
  std::vector<std::int32_t> path(frames);
  for (std::size_t t = 0; t < frames; ++t) path[t] = states[t * states.size() / frames];
  return path;
}

std::vector<std::int32_t> align(const Scores& scores, std::span<const std::int32_t> states) {
  const std::size_t frames = scores.rows, last = states.size() - 1;
  check_room(states.size(), frames);
  std::vector<double> best(states.size(), impossible);  // best score of paths now in a state
  Matrix<std::uint8_t> came(frames, states.size());     // from the state before
  best[0] = scores.row(0)[static_cast<std::size_t>(states[0])];
  for (std::size_t t = 1; t < frames; ++t)
    for (std::size_t s = std::min(last, t) + 1; s-- > 0;) {
      const bool goes_on = s > 0 && best[s - 1] > best[s];
      came.row(t)[s] = goes_on;
      best[s] = (goes_on ? best[s - 1] : best[s]) + static_cast<double>(scores.row(t)[static_cast<std::size_t>(states[s])]);
    }
  std::vector<std::int32_t> path(frames);
  for (std::size_t t = frames, s = last; t-- > 0; s -= came.row(t)[s]) path[t] = states[s];
  return path;
}

namespace {

/// The words up to a frame: the last one, and the index of the words before it in the list of histories.
struct History {
  std::size_t word;
  std::size_t before;
};
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

class Decoder {
 public:
  Decoder(const Scores& scores, const WordModels& models, const Grammar& grammar)
      : scores_(scores),
        models_(models),
        grammar_(grammar),
        best_(models.states(), impossible),
        history_(models.states(), none) {}

  std::vector<std::size_t> run() {
    double ended = 0;  // best score of paths whose last word ended just before the frame
    std::size_t said = none;
    for (std::size_t t = 0; t < scores_.rows; ++t) {
      for (std::size_t w = 0; w < models_.count(); ++w) advance(models_.word(w), t, ended, said);
      const std::size_t word = best_end();
      ended = grammar_.loop || t + 1 == scores_.rows ? best_[models_.word(word).last()] : impossible;
      if (ended == impossible) continue;
      said_.push_back({word, history_[models_.word(word).last()]});
      said = said_.size() - 1;
    }
    std::vector<std::size_t> words;
    if (ended != impossible)
      for (std::size_t h = said; h != none; h = said_[h].before) words.insert(words.begin(), said_[h].word);
    return words;
  }

 private:
  void advance(const WordModels::Word& word, std::size_t t, double ended, std::size_t said) {
    for (std::size_t s = word.states; s-- > 0;) {
      const std::size_t state = word.first + s;
      const double entering = s > 0 ? best_[state - 1] : ended + grammar_.insertion_score;
      if (entering > best_[state]) {
        best_[state] = entering;
        history_[state] = s > 0 ? history_[state - 1] : said;
      }
      best_[state] += static_cast<double>(scores_.row(t)[state]);
    }
  }

  std::size_t best_end() const {
    std::size_t best = 0;
    for (std::size_t w = 1; w < models_.count(); ++w)
      if (best_[models_.word(w).last()] > best_[models_.word(best).last()]) best = w;
    return best;
  }

  const Scores& scores_;
  const WordModels& models_;
  const Grammar& grammar_;
  std::vector<double> best_;          // [states], best score of paths now in a state
  std::vector<std::size_t> history_;  // [states], the words before the current one
  std::vector<History> said_;
};

}  // namespace

std::vector<std::size_t> decode(const Scores& scores, const WordModels& models, const Grammar& grammar) {
  if (scores.columns != models.states()) throw std::logic_error("scores are of other states than the words'");
  return Decoder(scores, models, grammar).run();
}

WordErrors& WordErrors::operator+=(const WordErrors& other) {
  words += other.words;
  substitutions += other.substitutions;
  deletions += other.deletions;
  insertions += other.insertions;
  return *this;
}

WordErrors word_errors(std::span<const std::size_t> said, std::span<const std::size_t> found) {
  const auto better = [](const WordErrors& a, const WordErrors& b) {
    return a.errors() != b.errors() ? a.errors() < b.errors() : a.insertions < b.insertions;
  };
  std::vector<WordErrors> row(found.size() + 1);  // for a prefix of the reference, with each number of recognised words
  for (std::size_t j = 1; j <= found.size(); ++j) row[j].insertions = j;
  for (std::size_t i = 1; i <= said.size(); ++i) {
    WordErrors diagonal = row[0];
    ++row[0].deletions;
    for (std::size_t j = 1; j <= found.size(); ++j) {
      WordErrors replaced = diagonal, deleted = row[j], inserted = row[j - 1];
      replaced.substitutions += said[i - 1] != found[j - 1];
      ++deleted.deletions;
      ++inserted.insertions;
      diagonal = row[j];
      row[j] = std::min({replaced, deleted, inserted}, better);
    }
  }
  row.back().words = said.size();
  return row.back();
}

}  // namespace paragrad::speech
