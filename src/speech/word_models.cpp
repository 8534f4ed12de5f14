#include "speech/word_models.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::speech {

WordModels::WordModels(const std::vector<std::string>& class_names) {
  if (class_names.empty())
    throw core::ConfigError("the data file has no names of classes, which say what states words have: seven/0, seven/1");
  for (std::size_t k = 0; k < class_names.size(); ++k) {
    const auto& text = class_names[k];
    const auto slash = text.rfind('/');
    const auto name = text.substr(0, slash);
    const bool goes_on = !words_.empty() && words_.back().name == name;
    const std::size_t state = goes_on ? words_.back().states : 0;
    if (slash == std::string::npos || name.empty() || text.substr(slash + 1) != std::to_string(state))
      throw core::ConfigError(
          core::format("class {} is called '{}', which is no state of a word that is next there: seven/0 "
                       "to begin the word 'seven', then seven/1",
                       k, text));
    if (!goes_on) words_.push_back({name, k, 0});
    ++words_.back().states;
    word_of_.push_back(words_.size() - 1);
  }
}

std::vector<std::string> WordModels::class_names(std::span<const std::string_view> words, std::size_t states) {
  std::vector<std::string> names;
  for (const auto word : words)
    for (std::size_t s = 0; s < states; ++s) names.push_back(core::format("{}/{}", word, s));
  return names;
}

std::vector<std::size_t> WordModels::words_in(std::span<const std::int32_t> labels) const {
  std::vector<std::size_t> words;
  for (std::size_t t = 0; t < labels.size(); ++t) {
    if (t > 0 && labels[t] == labels[t - 1]) continue;
    const auto state = static_cast<std::size_t>(labels[t]);  // below zero: beyond all
    if (state >= classes())
      throw core::ConfigError(core::format("the label {} is none of {} classes", labels[t], classes()));
    const auto& word = words_[word_of_[state]];
    const bool enters = state == word.first && (t == 0 || ends_word(labels[t - 1]));
    const bool goes_on = state != word.first && t > 0 && labels[t] == labels[t - 1] + 1;
    if (!enters && !goes_on)
      throw core::ConfigError(
          core::format("frame {} has state {} of the word '{}', which cannot come there", t, state - word.first, word.name));
    if (enters) words.push_back(word_of_[state]);
  }
  return words;
}

std::vector<std::int32_t> WordModels::states_of(std::span<const std::size_t> words) const {
  std::vector<std::int32_t> states;
  for (const std::size_t index : words)
    for (std::size_t s = 0; s < words_[index].states; ++s)
      states.push_back(static_cast<std::int32_t>(words_[index].first + s));
  return states;
}

}  // namespace paragrad::speech
