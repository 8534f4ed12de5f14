#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "speech/tokens.hpp"

namespace paragrad::speech {

/// Words (or phones) as left-to-right hidden Markov models: the frames of a word pass through its states in order, each for
/// at least one frame. Self-loop and transition probabilities are equal, so all paths through the same words have the same
/// transition score, which is therefore omitted.
///
/// The class names of a data file define the words: "seven/0", "seven/1", … are the states of "seven". Several classes may
/// be variants of one state, if they are adjacent and differ in a suffix after a space: "ah/0", "ah/0 front_labial". States
/// are numbered separately; without variants they are the classes.
class WordModels {
 public:
  struct Word {
    std::string name;
    std::size_t first = 0;   ///< its first state
    std::size_t states = 0;  ///< the others follow

    std::size_t last() const { return first + states - 1; }
  };

  /// Throws ConfigError for names that are not states of words, or out of order.
  explicit WordModels(const std::vector<std::string>& class_names);

  /// The names that say so.
  static std::vector<std::string> class_names(std::span<const std::string_view> words, std::size_t states);

  std::size_t count() const { return words_.size(); }
  const Word& word(std::size_t index) const { return words_[index]; }
  std::size_t find(const std::string& name) const;  ///< throws ConfigError for an unknown name
  std::size_t states() const { return word_of_.size(); }
  std::size_t classes() const { return state_of_.size(); }
  bool has_variants() const { return classes() > states(); }

  /// The words that an alignment (of classes) passes through, as read by Tokens. Throws ConfigError for labels outside
  /// the classes.
  std::vector<std::size_t> words_in(std::span<const std::int32_t> labels) const;

  /// The concatenated states of words.
  std::vector<std::int32_t> states_of(std::span<const std::size_t> words) const;

  /// Log probabilities of states, [states], from log probabilities of classes: a state's probability is the sum of its
  /// variants' probabilities.
  std::vector<double> sum_variants(std::span<const double> log_classes) const;

 private:
  void add_class(const std::string& name);

  Tokens tokens_;  // the words
  std::vector<Word> words_;
  std::vector<std::size_t> word_of_;   // [states]
  std::vector<std::size_t> state_of_;  // [classes], ascending
};

}  // namespace paragrad::speech
