#include "speech/word_models.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_set>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::speech {

WordModels::WordModels(const std::vector<std::string>& class_names) : tokens_(class_names, class_names.size()) {
  if (class_names.empty())
    throw core::ConfigError("the data file has no class names, which define the states of words, like seven/0, seven/1");
  std::unordered_set<std::string> variants;  // of the present state
  for (const auto& text : class_names) {
    const std::size_t states_before = states();
    add_class(text);
    if (states() > states_before) variants.clear();
    if (!variants.insert(text).second)
      throw core::ConfigError(core::format(
          "two classes are named '{}'; distinguish variants of a state by a suffix after a space: seven/0 after_six", text));
  }
}

void WordModels::add_class(const std::string& text) {
  const ClassName name(text);
  const bool goes_on = !words_.empty() && words_.back().name == name.token;
  const std::size_t next = goes_on ? words_.back().states : 0;
  const bool is_variant = goes_on && name.state == next - 1;
  if (!is_variant && name.state != next)
    throw core::ConfigError(core::format(
        "class {} is named '{}', which is not the next state of a word: use seven/0 to begin the word 'seven', then seven/1",
        classes(), text));
  if (!is_variant) {
    if (!goes_on) words_.push_back({name.token, states(), 0});
    ++words_.back().states;
    word_of_.push_back(words_.size() - 1);
  }
  state_of_.push_back(states() - 1);
}

std::size_t WordModels::find(const std::string& name) const {
  std::vector<std::string> known;
  for (std::size_t w = 0; w < words_.size(); ++w) {
    if (words_[w].name == name) return w;
    known.push_back(words_[w].name);
  }
  throw core::unknown_name("word", name, known);
}

std::vector<std::string> WordModels::class_names(std::span<const std::string_view> words, std::size_t states) {
  std::vector<std::string> names;
  for (const auto word : words)
    for (std::size_t s = 0; s < states; ++s) names.push_back(core::format("{}/{}", word, s));
  return names;
}

std::vector<std::size_t> WordModels::words_in(std::span<const std::int32_t> labels) const {
  const auto tokens = tokens_.in(labels);
  return {tokens.begin(), tokens.end()};
}

std::vector<std::int32_t> WordModels::states_of(std::span<const std::size_t> words) const {
  std::vector<std::int32_t> states;
  for (const std::size_t index : words)
    for (std::size_t s = 0; s < words_[index].states; ++s)
      states.push_back(static_cast<std::int32_t>(words_[index].first + s));
  return states;
}

std::vector<double> WordModels::sum_variants(std::span<const double> log_classes) const {
  if (log_classes.size() != classes()) throw std::logic_error("WordModels::sum_variants: other classes");
  std::vector<double> result;
  for (std::size_t begin = 0, end = 0; begin < classes(); begin = end) {
    double most = log_classes[begin], sum = 0;
    for (end = begin + 1; end < classes() && state_of_[end] == state_of_[begin]; ++end)
      most = std::max(most, log_classes[end]);
    for (std::size_t k = begin; k < end; ++k) sum += std::exp(log_classes[k] - most);
    result.push_back(most + std::log(sum));
  }
  return result;
}

}  // namespace paragrad::speech
