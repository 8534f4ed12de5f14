#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.hpp"

namespace paragrad::app {

/// A CNTK configuration file (BrainScript, NDL), parsed as CNTK's own reader does: entries `key = value`, separated by line
/// ends, semicolons and commas; a value may be a block `[ … ]` or `{ … }` of entries; `#` at the beginning of a line or
/// after a blank starts a comment; keys are case-insensitive. Blocks are parsed on demand, so that the file may contain
/// networks and macros, which have a different grammar.
class BrainScript {
 public:
  struct Entry {
    std::string key;
    std::string value;  ///< without enclosing quotes; empty for a block
    int line = 0;
    bool is_block = false;
    std::size_t begin = 0, end = 0;  ///< of the block's content in the text
  };
  using Entries = std::vector<Entry>;
  enum class Rest { refused, left_out };  ///< treatment of text that is not an entry

  /// Throws ConfigError, with file and line, if the file is unreadable, or brackets or quotes do not match.
  static BrainScript read(const std::string& path);

  /// The entries outside all blocks, or those of a block. Throws ConfigError for text without `=` where that is refused. An
  /// ellipsis on a line of its own becomes an entry without a value.
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
  std::map<std::size_t, std::size_t> closing_;  // position of a bracket or quote to that of its closing one
};

/// Equal, ignoring case.
bool same_key(std::string_view a, std::string_view b);

/// The text made printable and shortened, for quoting in messages.
std::string shown(std::string_view text);

}  // namespace paragrad::app
