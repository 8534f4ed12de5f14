#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paragrad::speech {

/// Words as hidden Markov models from left to right: the frames of a word pass through its states, which are neighbouring
/// classes, one after the other, each for at least one frame. The probabilities to stay and to go on are taken as equal:
/// through given words every path then has the same, so they decide nothing.
///
/// The names of a data file's classes say which words there are: "seven/0", "seven/1", … are the states of "seven".
class WordModels {
 public:
  struct Word {
    std::string name;
    std::size_t first = 0;   ///< class of its first state
    std::size_t states = 0;  ///< the others follow

    std::size_t last() const { return first + states - 1; }
  };

  /// Throws ConfigError for names that are no states of words, or out of order.
  explicit WordModels(const std::vector<std::string>& class_names);

  /// The names that say so.
  static std::vector<std::string> class_names(std::span<const std::string_view> words, std::size_t states);

  std::size_t count() const { return words_.size(); }
  const Word& word(std::size_t index) const { return words_[index]; }
  std::size_t classes() const { return word_of_.size(); }

  /// The words that an alignment passes through; a word of one state is not seen to come twice in a row. Throws ConfigError
  /// for labels that are no such path.
  std::vector<std::size_t> words_in(std::span<const std::int32_t> labels) const;

  /// The states of words, one after the other.
  std::vector<std::int32_t> states_of(std::span<const std::size_t> words) const;

 private:
  bool ends_word(std::int32_t label) const {
    const auto state = static_cast<std::size_t>(label);
    return state == words_[word_of_[state]].last();
  }

  std::vector<Word> words_;
  std::vector<std::size_t> word_of_;  // [classes]
};

}  // namespace paragrad::speech
