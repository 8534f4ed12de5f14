#include "data/vocabulary.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"

namespace paragrad::data {
namespace {

constexpr std::string_view of_bytes = "bytes", of_characters = "characters", of_pairs = "bpe";

/// The bytes of the UTF-8 character at the beginning of `text`; 0 if there is none: an overlong form, half of a surrogate
/// pair, a number beyond Unicode, or no UTF-8 at all.
std::size_t length_of_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const std::uint8_t second = byte(1);
  const bool is_other = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
                        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
  return is_other ? 0 : length;
}

/// Calls visit(character, place) for each character.
template <class Visit>
void for_characters(std::string_view text, const std::string& what, const Visit& visit) {
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = length_of_character(text.substr(place));
    if (length == 0)
      throw core::ConfigError(core::format("{} is not UTF-8 at byte {}: take `tokens` bytes, or convert it", what, place));
    visit(text.substr(place, length), place);
    place += length;
  }
}

}  // namespace

Vocabulary::Vocabulary(std::string kind, std::vector<std::string> tokens)
    : kind_(std::move(kind)), tokens_(std::move(tokens)) {}

Vocabulary Vocabulary::bytes() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  return {std::string(of_bytes), std::move(tokens)};
}

Vocabulary Vocabulary::characters(std::string_view text, const std::string& what) {
  std::set<std::string_view> found;  // UTF-8 sorts as code points do
  for_characters(text, what, [&](std::string_view character, std::size_t) { found.insert(character); });
  if (found.empty()) throw core::ConfigError(core::format("{} is empty: there are no characters in it", what));
  Vocabulary vocabulary(std::string(of_characters), {found.begin(), found.end()});
  for (const std::string& token : vocabulary.tokens_)
    vocabulary.numbers_.emplace(token, static_cast<std::int32_t>(vocabulary.numbers_.size()));
  return vocabulary;
}

Vocabulary Vocabulary::byte_pairs(BytePairs pairs) {
  Vocabulary vocabulary(std::string(of_pairs), pairs.tokens());
  vocabulary.pairs_ = std::make_shared<const BytePairs>(std::move(pairs));
  return vocabulary;
}
Vocabulary Vocabulary::byte_pairs(const std::string& folder) { return byte_pairs(BytePairs::from_folder(folder)); }

std::string Vocabulary::stored() const {
  std::string text = kind_ + '\n';
  if (kind_ == of_characters)
    for (const std::string& token : tokens_) text += token;
  if (pairs_) text += pairs_->stored();
  return text;
}

Vocabulary Vocabulary::parse(std::string_view stored) {
  const std::size_t end = stored.find('\n');
  const std::string_view kind = stored.substr(0, end), rest = end == stored.npos ? "" : stored.substr(end + 1);
  if (stored == bytes().stored()) return bytes();
  if (kind == of_characters && !rest.empty()) {
    Vocabulary read = characters(rest, "which");
    if (read.stored() == stored) return read;
  }
  if (kind == of_pairs) return byte_pairs(BytePairs(std::string(rest)));
  throw core::ConfigError(core::format("'{}' is not one that this program knows", core::printable(kind.substr(0, 100))));
}

std::string Vocabulary::described() const { return core::format("{} {}", size(), pairs_ ? "byte pair tokens" : kind_); }

core::NumberType Vocabulary::type() const {
  if (size() <= std::numeric_limits<std::uint8_t>::max() + std::size_t{1}) return core::NumberType::uint8;
  return size() <= std::numeric_limits<std::uint16_t>::max() + std::size_t{1} ? core::NumberType::uint16
                                                                              : core::NumberType::int32;
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text, const std::string& what) const {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  if (kind_ == of_bytes) {
    for (const char byte : text) tokens.push_back(static_cast<std::uint8_t>(byte));
    return tokens;
  }
  if (pairs_) {
    for_characters(text, what, [](std::string_view, std::size_t) {});
    return pairs_->encode(text);
  }
  for_characters(text, what, [&](std::string_view character, std::size_t place) {
    const auto known = numbers_.find(character);
    if (known == numbers_.end())
      throw core::ConfigError(core::format("{} has '{}' at byte {}, which is none of the {} characters of the vocabulary",
                                           what, core::printable(character), place, size()));
    tokens.push_back(known->second);
  });
  return tokens;
}

std::string Vocabulary::decode(const std::vector<std::int32_t>& tokens) const {
  std::string all;
  for (const std::int32_t token : tokens) all += text(token);
  return all;
}

}  // namespace paragrad::data
