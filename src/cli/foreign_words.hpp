#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace paragrad::cli {

/// What a word that users of other programs type first is called here: "here it is --learning-rate". "" if the word is known
/// here, or if foreign_words.def has none of that kind for which a known name stands. Upper case, '-' and '_' do not matter.
/// kind: "command", "option", "strategy", … known: names as the answer is to show them.
std::string foreign_answer(std::string_view kind, std::string_view word, const std::vector<std::string>& known);

/// "here it is --learning-rate", or else "did you mean --learning-rate?", or else "".
std::string answer_to(std::string_view kind, std::string_view word, const std::vector<std::string>& known);

/// Refuses an option's value that is such a word, before anything is read or run. Other unknown values are left to the code
/// that uses them.
CLI::Validator no_foreign_word(const std::string& kind, const std::vector<std::string>& known);

}  // namespace paragrad::cli
