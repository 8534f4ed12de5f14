#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace paragrad::data {

/// Byte pair encoding over the bytes of words (Sennrich et al., ACL 2016), as GPT-2 does it (Radford et al. 2019): a text is
/// split into words, numbers, other marks and blanks; in each, beginning with its bytes, the neighbours whose merge was
/// learned first are merged, until none are known.
class BytePairs {
 public:
  /// From the tokens' numbers (encoder.json or vocab.json) and the merges (vocab.bpe or merges.txt) in a folder. Throws
  /// ConfigError for files that are missing, cut short or do not belong together.
  static BytePairs from_folder(const std::string& folder);

  /// From what stored() returned: the tokens, a line each in the order of their numbers; an empty line; and the merges in
  /// the order in which they were learned, "a b" on a line. Bytes are written as in GPT-2's files, a visible character each.
  /// Throws ConfigError, a sentence that continues "its vocabulary", for anything else.
  explicit BytePairs(std::string stored);

  const std::string& stored() const { return stored_; }
  const std::vector<std::string>& tokens() const { return tokens_; }  ///< the bytes of each

  /// text: UTF-8. No text becomes a token that no merge makes, such as GPT-2's <|endoftext|>. Takes time in proportion to
  /// the text and the logarithm of its longest word, and 44 bytes per byte of that word. Throws ConfigError if there is no
  /// memory for that.
  std::vector<std::int32_t> encode(std::string_view text) const;

 private:
  struct Merge {
    std::uint32_t rank;
    std::int32_t merged;
  };

  void read_tokens(std::string_view& rest);
  void read_merges(std::string_view rest);
  const Merge* merge_of(std::int32_t left, std::int32_t right) const;
  void merge_word(std::string_view word, std::vector<std::int32_t>& into) const;

  std::string stored_;
  std::vector<std::string> tokens_;
  std::vector<std::int32_t> of_byte_;                ///< the token of each byte
  std::unordered_map<std::uint64_t, Merge> merges_;  ///< by both parts
};

}  // namespace paragrad::data
