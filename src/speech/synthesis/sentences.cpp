#include "speech/synthesis/sentences.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "speech/synthesis/random_streams.hpp"

namespace paragrad::speech {
namespace {

constexpr std::size_t least_words = 3, most_words = 25, most_letters = 20;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// A word with the punctuation around it.
bool is_clean(std::string_view word) {
  const auto begin = word.find_first_not_of("\"('");
  const auto end = word.find_last_not_of(",.;:?!\"')");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return false;
  word = word.substr(begin, end + 1 - begin);
  return word.size() <= most_letters && is_letter(word.front()) && is_letter(word.back()) &&
         std::ranges::all_of(word, [](char c) { return is_letter(c) || c == '\'' || c == '-'; });
}

/// The line with single spaces; nullopt if it is not a valid sentence.
std::optional<std::string> clean_sentence(const std::string& line) {
  std::istringstream words(line);
  std::string sentence, word;
  std::size_t count = 0;
  for (; words >> word; ++count) {
    if (!is_clean(word)) return {};
    sentence += (count == 0 ? "" : " ") + word;
  }
  if (count < least_words || count > most_words) return {};
  return sentence;
}

}  // namespace

std::string words_of(std::string_view sentence) {
  std::string words;
  for (const char c : sentence) {
    if (is_letter(c)) words += static_cast<char>(c | 0x20);
    if (c == ' ' || c == '-') words += ' ';
  }
  return words;
}

std::vector<std::string> read_sentences(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw core::ConfigError(core::format("cannot read the text '{}'", path));
  std::vector<std::string> sentences;
  std::unordered_set<std::string> known;  // for lookup only, never iterated
  for (std::string line; std::getline(file, line);)
    if (auto sentence = clean_sentence(line); sentence && known.insert(words_of(*sentence)).second)
      sentences.push_back(std::move(*sentence));
  if (sentences.empty())
    throw core::ConfigError(
        core::format("the text '{}' contains no line with a sentence of {} to {} words", path, least_words, most_words));
  return sentences;
}

const std::string& SentenceOrder::operator[](std::uint64_t index) {
  const std::uint64_t pass = index / sentences_.size();
  if (order_.empty() || pass != pass_) {
    order_ = draws_of(seed_, Draw::order, subset_, static_cast<std::uint32_t>(pass))
                 .permutation(static_cast<std::uint32_t>(sentences_.size()));
    pass_ = pass;
  }
  return sentences_[order_[index % sentences_.size()]];
}

}  // namespace paragrad::speech
