#include "data/byte_pairs.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <stdexcept>
#include <tuple>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/memory.hpp"
#include "core/printable.hpp"
#include "system/files.hpp"

namespace paragrad::data {
namespace {

namespace fs = std::filesystem;

using core::ConfigError;
using core::format;

/// The characters that stand for the bytes in GPT-2's files: a visible one for itself, the others for U+0100 and on.
class ByteAlphabet {
 public:
  ByteAlphabet() {
    std::uint32_t next = 256;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const bool is_visible = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
      std::string character;
      core::append_utf8(character, is_visible ? byte : next++);
      bytes_.emplace(character, static_cast<char>(byte));
    }
  }

  /// The bytes that a text stands for; nothing if it has another character.
  std::optional<std::string> bytes_of(std::string_view text) const {
    std::string bytes;
    for (std::size_t i = 0; i < text.size();) {
      const std::string character(text.substr(i, static_cast<std::uint8_t>(text[i]) < 0x80 ? 1 : 2));
      const auto byte = bytes_.find(character);
      if (byte == bytes_.end()) return std::nullopt;
      bytes += byte->second;
      i += character.size();
    }
    return bytes;
  }

 private:
  std::unordered_map<std::string, char> bytes_;
};

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

/// Takes the first line off a text, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string shown(std::string_view text) { return format("'{}'", core::printable(text.substr(0, 100))); }

/// What GPT-2's pattern splits a text into.
class Words {
 public:
  explicit Words(std::string_view text)
      : text_(text), code_(compile(), pcre2_code_free), match_(pcre2_match_data_create(1, nullptr), pcre2_match_data_free) {
    if (!match_) throw std::bad_alloc();
  }

  /// Nothing at the end of the text.
  std::string_view next() {
    if (begin_ == text_.size()) return {};
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), begin_,
                                  PCRE2_NO_UTF_CHECK, match_.get(), nullptr);
    if (found <= 0) throw std::logic_error(format("a text could not be split into words: PCRE2 returned {}", found));
    const std::string_view word = text_.substr(begin_, pcre2_get_ovector_pointer(match_.get())[1] - begin_);
    begin_ += word.size();
    return word;
  }

 private:
  /// \s as Unicode has it: PCRE2 counts U+180E as well.
  static pcre2_code* compile() {
    const std::string blank = R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
    const std::string pattern =
        format(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+| ?[^{0}\p{{L}}\p{{N}}]+|[{0}]+(?![^{0}])|[{0}]+)", blank);
    int error = 0;
    PCRE2_SIZE place = 0;
    pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                           PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &place, nullptr);
    if (code == nullptr) throw std::logic_error(format("PCRE2 refuses the pattern of words: error {} at {}", error, place));
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it is missing, matches are interpreted
    return code;
  }

  std::string_view text_;
  std::size_t begin_ = 0;
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code_;
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match_;
};

/// The first of these files that the folder has.
std::string file_of(const std::string& folder, const std::array<std::string_view, 2>& names) {
  for (const std::string_view name : names)
    if (const fs::path path = fs::path(folder) / name; fs::exists(path)) return path.string();
  throw ConfigError(format("'{}' has neither {} nor {}, which byte pair encoding needs", folder, names[0], names[1]));
}

/// The tokens by number, a line each.
std::string token_lines(const std::string& path) {
  const core::Json json = core::parse_json_or_discard(system::read_text(path));
  if (!json.is_object() || json.empty())
    throw ConfigError(format("'{}' is not a JSON object that maps tokens to numbers: is the file complete?", path));
  std::vector<const std::string*> by_number(json.size());
  for (const auto& [token, number] : json.items()) {
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() >= by_number.size() || by_number[number] != nullptr)
      throw ConfigError(format("'{}' gives token {} the number {}: {} tokens need the numbers 0 to {}, each once", path,
                               shown(token), core::printable(core::text_of(number).substr(0, 100)), json.size(),
                               json.size() - 1));
    by_number[number] = &token;
  }
  std::string lines;
  for (const std::string* token : by_number) {
    if (token->empty() || token->find_first_of("\r\n") != token->npos)
      throw ConfigError(format("'{}' has the token {}, which is empty or contains the end of a line", path, shown(*token)));
    lines += *token + '\n';
  }
  return lines;
}

}  // namespace

BytePairs BytePairs::from_folder(const std::string& folder) {
  if (!fs::is_directory(folder))
    throw ConfigError(format("'{}' is not a folder: give the one with encoder.json and vocab.bpe", folder));
  const std::string numbers = file_of(folder, {"encoder.json", "vocab.json"}),
                    merges = file_of(folder, {"vocab.bpe", "merges.txt"});
  const std::string text = system::read_text(merges);
  std::string stored = token_lines(numbers) + '\n';
  std::string_view rest = text;
  if (rest.starts_with("#version")) take_line(rest);
  while (!rest.empty())
    if (const std::string_view line = take_line(rest); !line.empty()) stored.append(line) += '\n';
  try {
    return BytePairs(std::move(stored));
  } catch (const ConfigError& error) {
    throw ConfigError(
        format("'{}' and '{}' do not belong together, or are damaged: the vocabulary {}", numbers, merges, error.what()));
  }
}

BytePairs::BytePairs(std::string stored) : stored_(std::move(stored)), of_byte_(256, -1) {
  std::string_view rest = stored_;
  read_tokens(rest);
  read_merges(rest);
}

void BytePairs::read_tokens(std::string_view& rest) {
  const ByteAlphabet alphabet;
  while (true) {
    const std::string_view line = take_line(rest);
    if (line.empty()) break;
    const auto bytes = alphabet.bytes_of(line);
    if (!bytes) throw ConfigError(format("has the token {}, whose characters do not stand for bytes", shown(line)));
    if (bytes->size() == 1) of_byte_[static_cast<std::uint8_t>(bytes->front())] = static_cast<std::int32_t>(tokens_.size());
    tokens_.push_back(*bytes);
  }
  for (std::size_t byte = 0; byte < of_byte_.size(); ++byte)
    if (of_byte_[byte] < 0) throw ConfigError(format("has no token for byte {}", byte));
}

void BytePairs::read_merges(std::string_view rest) {
  const ByteAlphabet alphabet;
  std::unordered_map<std::string, std::int32_t> numbers;
  for (const std::string& token : tokens_)
    if (!numbers.emplace(token, static_cast<std::int32_t>(numbers.size())).second)
      throw ConfigError(format("has the token {} twice", shown(token)));
  std::vector<bool> is_made(tokens_.size());
  for (const std::int32_t token : of_byte_) is_made[static_cast<std::size_t>(token)] = true;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const std::size_t blank = line.find(' ');
    const auto number = [&](std::string_view text) {
      const auto bytes = alphabet.bytes_of(text);
      const auto known = bytes ? numbers.find(*bytes) : numbers.end();
      return known == numbers.end() ? -1 : known->second;
    };
    const std::int32_t left = blank == line.npos ? -1 : number(line.substr(0, blank)),
                       right = blank == line.npos ? -1 : number(line.substr(blank + 1));
    const auto made = [&](std::int32_t token) { return token >= 0 && is_made[static_cast<std::size_t>(token)]; };
    const auto merged =
        made(left) && made(right)
            ? numbers.find(tokens_[static_cast<std::size_t>(left)] + tokens_[static_cast<std::size_t>(right)])
            : numbers.end();
    if (merged == numbers.end() ||
        !merges_.emplace(key_of(left, right), Merge{static_cast<std::uint32_t>(merges_.size()), merged->second}).second)
      throw ConfigError(format(
          "has the merge {}, whose parts are not both bytes or made by merges before it, or do not make a token together",
          shown(line)));
    is_made[static_cast<std::size_t>(merged->second)] = true;
  }
}

const BytePairs::Merge* BytePairs::merge_of(std::int32_t left, std::int32_t right) const {
  const auto merge = merges_.find(key_of(left, right));
  return merge == merges_.end() ? nullptr : &merge->second;
}

void BytePairs::merge_word(std::string_view word, std::vector<std::int32_t>& into) const {
  constexpr std::size_t long_word = 1 << 20;
  struct Part {
    std::int32_t token;
    std::uint32_t before, after;  ///< parts; word.size(): none
  };
  struct Candidate {
    std::uint32_t rank, left;
    std::int32_t left_token, right_token;
    bool operator>(const Candidate& other) const { return std::tie(rank, left) > std::tie(other.rank, other.left); }
  };
  if (word.size() > std::numeric_limits<std::uint32_t>::max())
    throw ConfigError(format("a word of {} bytes is too long for byte pair encoding: take `tokens` bytes", word.size()));
  if (word.size() > long_word)
    core::require_memory(static_cast<double>(word.size()) * (sizeof(Part) + 2 * sizeof(Candidate)), "a word of the text");
  const auto none = static_cast<std::uint32_t>(word.size());
  std::vector<Part> parts;
  parts.reserve(none);
  for (std::uint32_t i = 0; i < none; ++i)
    parts.push_back({of_byte_[static_cast<std::uint8_t>(word[i])], i == 0 ? none : i - 1, i + 1});
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](std::uint32_t left) {
    if (left == none || parts[left].after == none) return;
    const std::int32_t token = parts[left].token, next = parts[parts[left].after].token;
    if (const Merge* merge = merge_of(token, next)) candidates.push({merge->rank, left, token, next});
  };
  for (std::uint32_t i = 0; i < none; ++i) consider(i);
  constexpr std::int32_t gone = -1;
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Part& left = parts[best.left];
    if (left.token != best.left_token || left.after == none || parts[left.after].token != best.right_token) continue;
    Part& right = parts[left.after];
    left.token = merge_of(best.left_token, best.right_token)->merged;
    left.after = right.after;
    right.token = gone;
    if (left.after != none) parts[left.after].before = best.left;
    consider(left.before);
    consider(best.left);
  }
  for (std::uint32_t i = 0; i != none; i = parts[i].after) into.push_back(parts[i].token);
}

std::vector<std::int32_t> BytePairs::encode(std::string_view text) const {
  constexpr std::size_t most_words = 1 << 16, longest_word = 64;  // kept, as most words of a text come again
  std::unordered_map<std::string_view, std::vector<std::int32_t>> known;
  std::vector<std::int32_t> tokens;
  Words words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (const auto found = known.find(word); found != known.end()) {
      tokens.insert(tokens.end(), found->second.begin(), found->second.end());
      continue;
    }
    const auto begin = static_cast<std::ptrdiff_t>(tokens.size());
    merge_word(word, tokens);
    if (word.size() <= longest_word && known.size() < most_words)
      known.emplace(word, std::vector(tokens.begin() + begin, tokens.end()));
  }
  return tokens;
}

}  // namespace paragrad::data
