#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/encoding.hpp"
#include "data/byte_pairs.hpp"

namespace paragrad::data {

/// What the tokens of a text stand for: bytes (tokens 0 to 255), the characters of a text, in the order of their code
/// points, or sequences of bytes as byte pair encoding learned them.
class Vocabulary {
 public:
  static Vocabulary bytes();

  /// Those that occur in a UTF-8 text. Throws ConfigError for other text, naming the place, and for an empty one.
  /// what: for messages, the file.
  static Vocabulary characters(std::string_view text, const std::string& what);

  /// GPT-2's files, or others like them, in a folder. Throws ConfigError: see BytePairs::from_folder.
  static Vocabulary byte_pairs(const std::string& folder);

  /// From what stored() returned. Throws ConfigError, a sentence that continues "its vocabulary", for anything else.
  static Vocabulary parse(std::string_view stored);
  std::string stored() const;

  const std::string& kind() const { return kind_; }  ///< "bytes", "characters", "bpe"
  std::string described() const;                     ///< "256 bytes", "50257 byte pair tokens"
  std::size_t size() const { return tokens_.size(); }
  core::NumberType type() const;  ///< the smallest that holds every token
  const std::string& text(std::int32_t token) const { return tokens_.at(static_cast<std::size_t>(token)); }

  /// Throws ConfigError for text that is not UTF-8, unless tokens are bytes, and for a character that it does not have,
  /// naming the place. what: for messages.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& what) const;
  std::string decode(const std::vector<std::int32_t>& tokens) const;

  bool operator==(const Vocabulary& other) const {
    return kind_ == other.kind_ && tokens_ == other.tokens_ && (!pairs_ || pairs_->stored() == other.pairs_->stored());
  }

 private:
  Vocabulary(std::string kind, std::vector<std::string> tokens);
  static Vocabulary byte_pairs(BytePairs pairs);

  std::string kind_;
  std::vector<std::string> tokens_;                           ///< the bytes of each
  std::map<std::string, std::int32_t, std::less<>> numbers_;  ///< of characters
  std::shared_ptr<const BytePairs> pairs_;                    ///< of "bpe"
};

}  // namespace paragrad::data
