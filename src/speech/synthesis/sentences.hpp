#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/philox.hpp"

namespace paragrad::speech {

/// The sentences of a text file, one per line, in order. A line is skipped unless it has 3 to 25 words of letters (with ' or
/// - inside), separated by spaces and , . ; : ? ! " ( ); repetitions that differ only in case and punctuation are skipped,
/// too. Throws ConfigError if the file cannot be read or has no sentence.
std::vector<std::string> read_sentences(const std::string& path);

/// The normalised words of a sentence, equal for sentences that sound the same: "let there be light".
std::string words_of(std::string_view sentence);

/// An infinite sequence: all sentences in a random order, then all in another order, and so on.
class SentenceOrder {
 public:
  SentenceOrder(std::vector<std::string> sentences, std::uint64_t seed, std::uint32_t subset)
      : sentences_(std::move(sentences)), seed_(seed), subset_(subset) {}

  const std::string& operator[](std::uint64_t index);  ///< caches the order of the last requested pass

 private:
  std::vector<std::string> sentences_;
  std::uint64_t seed_;
  std::uint32_t subset_;
  std::uint64_t pass_ = 0;
  std::vector<std::uint32_t> order_;
};

}  // namespace paragrad::speech
