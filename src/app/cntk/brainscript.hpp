#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.hpp"

namespace paragrad::app {

/// A configuration file of CNTK (BrainScript, NDL), as CNTK's own reader takes it apart: entries `key = value`, separated by
/// ends of lines, semicolons and commas; a value may be a block `[ … ]` or `{ … }` of entries; `#` at the beginning of a
/// line or after a blank begins a comment; keys are the same in upper and lower case. Blocks are taken apart when they are
/// asked for, so that networks and macros, which have another grammar, may stand in the file.
class BrainScript {
 public:
  struct Entry {
    std::string key;
    std::string value;  ///< without quotes around it; empty for a block
    int line = 0;
    bool is_block = false;
    std::size_t begin = 0, end = 0;  ///< of the block's content in the text
  };
  using Entries = std::vector<Entry>;
  enum class Rest { refused, left_out };  ///< what is no entry

  /// Throws ConfigError, with file and line: not readable, brackets or quotes that do not match.
  static BrainScript read(const std::string& path);

  /// The entries outside of all blocks, or those of a block. Throws ConfigError for text without `=` where that is refused;
  /// three dots in a line of their own, for something left out, become an entry without a value.
  Entries entries(Rest rest) const { return entries(0, text_.size(), rest); }
  Entries entries(const Entry& block, Rest rest) const { return entries(block.begin, block.end, rest); }

  /// "train.cntk:12: message"
  core::ConfigError error(int line, std::string_view message) const;

  const std::string& name() const { return name_; }

 private:
  void match_brackets();
  int line_of(std::size_t offset) const;
  Entries entries(std::size_t begin, std::size_t end, Rest rest) const;
  std::size_t end_of_entry(std::size_t begin, std::size_t end) const;
  Entry entry(std::size_t begin, std::size_t end) const;

  std::string name_;
  std::string text_;                            // without comments
  std::vector<std::size_t> line_ends_;          // in the text
  std::map<std::size_t, std::size_t> closing_;  // bracket or quote to the one that closes it
};

/// Equal but for upper and lower case.
bool same_key(std::string_view a, std::string_view b);

/// Printable and short, to be quoted.
std::string shown(std::string_view text);

}  // namespace paragrad::app
