#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/philox.hpp"

namespace paragrad::speech {

/// What is said: the sentences of a text file, one to a line, in its order. A line is left out unless it has 3 to 25 words
/// of letters (and ' or - within), with spaces and , . ; : ? ! " ( ) between; so is one that came before, but for case and
/// signs. Throws ConfigError for a file that cannot be read, or has none.
std::vector<std::string> read_sentences(const std::string& path);

/// The letters of a sentence, and what two have in common that sound the same: "let there be light".
std::string words_of(std::string_view sentence);

/// An endless order: all sentences in a random order, then all in another.
class SentenceOrder {
 public:
  SentenceOrder(std::vector<std::string> sentences, std::uint64_t seed, std::uint32_t subset)
      : sentences_(std::move(sentences)), seed_(seed), subset_(subset) {}

  const std::string& operator[](std::uint64_t index);  ///< keeps the order of the last pass asked for

 private:
  std::vector<std::string> sentences_;
  std::uint64_t seed_;
  std::uint32_t subset_;
  std::uint64_t pass_ = 0;
  std::vector<std::uint32_t> order_;
};

}  // namespace paragrad::speech
