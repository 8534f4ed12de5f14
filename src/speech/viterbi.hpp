#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "speech/matrix.hpp"
#include "speech/word_models.hpp"

namespace paragrad::speech {

/// Scores of an utterance: for each frame and state a logarithm, [frames][states]; any constant may be added to a frame.
using Scores = Matrix<float>;

/// The states in their order, each for as many frames as the others, or one more. Throws std::logic_error for fewer frames
/// than states, as align() does.
std::vector<std::int32_t> align_uniformly(std::span<const std::int32_t> states, std::size_t frames);

/// The path through the states in their order, each for at least one frame, whose sum of scores is the largest (Viterbi);
/// of equal ones the one that stays longer in later states. frames·states additions in double, and as many bytes.
std::vector<std::int32_t> align(const Scores& scores, std::span<const std::int32_t> states);

/// What may be said.
struct Grammar {
  bool loop = false;           ///< any number of words, but at least one; else exactly one
  double insertion_score = 0;  ///< of each word: below zero, fewer words are found
};

/// The words of the path with the largest sum of scores through what the grammar allows, each state for at least one frame;
/// of equal ones, where a word ends, the one that is named first. Nothing where there are too few frames for any word.
/// frames·states additions in double.
std::vector<std::size_t> decode(const Scores& scores, const WordModels& models, const Grammar& grammar);

/// What turns words that were found into those that were said.
struct WordErrors {
  std::size_t words = 0;  ///< that were said
  std::size_t substitutions = 0;
  std::size_t deletions = 0;
  std::size_t insertions = 0;

  std::size_t errors() const { return substitutions + deletions + insertions; }
  double rate() const { return static_cast<double>(errors()) / static_cast<double>(words); }  ///< may be above 1
  WordErrors& operator+=(const WordErrors& other);
};

/// By the fewest errors (Levenshtein's distance); among those by the fewest insertions.
WordErrors word_errors(std::span<const std::size_t> said, std::span<const std::size_t> found);

}  // namespace paragrad::speech
