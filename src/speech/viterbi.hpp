#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "speech/matrix.hpp"
#include "speech/word_models.hpp"

namespace paragrad::speech {

/// Scores of an utterance: a log score for each frame and state, [frames][states]; a constant per frame does not matter.
using Scores = Matrix<float>;

/// The states in order, with frames divided evenly (they differ by at most one). Throws std::logic_error for fewer frames
/// than states, as align() does.
std::vector<std::int32_t> align_uniformly(std::span<const std::int32_t> states, std::size_t frames);

/// The path through the states in order, each for at least one frame, with the largest sum of scores (Viterbi); ties prefer
/// the path that stays longer in later states. frames·states additions in double, and as many bytes.
std::vector<std::int32_t> align(const Scores& scores, std::span<const std::int32_t> states);

/// The word sequences that are allowed.
struct Grammar {
  bool loop = false;           ///< one word or more; otherwise exactly one
  double insertion_score = 0;  ///< added per word; a negative score gives fewer words
};

/// The words of the best path allowed by the grammar (largest sum of scores), each state for at least one frame; at word
/// ends, ties prefer the word that is listed first. Empty if there are too few frames for any word. frames·states additions
/// in double.
std::vector<std::size_t> decode(const Scores& scores, const WordModels& models, const Grammar& grammar);

/// The edits that turn the recognised words into the reference.
struct WordErrors {
  std::size_t words = 0;  ///< in the reference
  std::size_t substitutions = 0;
  std::size_t deletions = 0;
  std::size_t insertions = 0;

  std::size_t errors() const { return substitutions + deletions + insertions; }
  double rate() const { return static_cast<double>(errors()) / static_cast<double>(words); }  ///< may be above 1
  WordErrors& operator+=(const WordErrors& other);
};

/// Counts the fewest errors (Levenshtein distance); ties prefer fewer insertions.
WordErrors word_errors(std::span<const std::size_t> said, std::span<const std::size_t> found);

}  // namespace paragrad::speech
