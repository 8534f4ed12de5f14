#include "cli/foreign_words.hpp"

#include <algorithm>
#include <sstream>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/names.hpp"

namespace paragrad::cli {
namespace {

struct ForeignWord {
  std::string_view kind;
  const char* words;
  std::string_view here;  // "": there is nothing of the kind
  std::string_view remark;

  bool has(const std::string& folded) const {
    std::istringstream all(words);
    for (std::string word; all >> word;)
      if (core::folded_name(word) == folded) return true;
    return false;
  }
};

constexpr ForeignWord foreign_words[] = {
#define WORD(kind, words, here, remark) {kind, words, here, remark},
#include "cli/foreign_words.def"
#undef WORD
};

/// "here it is top_k:0.01, the share to send"
std::string answer_of(const ForeignWord& row, const std::string& known) {
  if (row.here.empty()) return std::string(row.remark);
  const std::size_t colon = row.here.find(':');
  const std::string_view parameter = colon == row.here.npos ? "" : row.here.substr(colon);
  const auto name = std::string_view(known).substr(0, known.find_first_of(":["));
  return core::format("here it is {}{}{}{}", name, parameter, row.remark.empty() ? "" : ", ", row.remark);
}

}  // namespace

std::string foreign_answer(std::string_view kind, std::string_view word, const std::vector<std::string>& known) {
  const std::string folded = core::folded_name(word);
  const auto is = [](const std::string& name) {
    return [&name](const std::string& other) { return core::folded_name(other) == name; };
  };
  if (folded.empty() || std::ranges::any_of(known, is(folded))) return "";
  for (const ForeignWord& row : foreign_words) {
    if (row.kind != kind || !row.has(folded)) continue;
    if (row.here.empty()) return answer_of(row, "");
    const std::string here = core::folded_name(row.here);
    if (const auto found = std::ranges::find_if(known, is(here)); found != known.end()) return answer_of(row, *found);
  }
  return "";
}

std::string answer_to(std::string_view kind, std::string_view word, const std::vector<std::string>& known) {
  if (const std::string foreign = foreign_answer(kind, word, known); !foreign.empty()) return foreign;
  const std::string near = core::nearest_name(word, known);
  return near.empty() ? "" : core::format("did you mean {}?", near);
}

CLI::Validator no_foreign_word(const std::string& kind, const std::vector<std::string>& known) {
  return {[kind, known](const std::string& text) {
            if (const std::string here = foreign_answer(kind, text, known); !here.empty())
              throw core::ConfigError(core::format("unknown {} '{}'; {}", kind, text, here));
            return std::string();
          },
          ""};
}

}  // namespace paragrad::cli
