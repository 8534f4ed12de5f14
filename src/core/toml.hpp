#pragma once

// The only header that includes toml++.
#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "core/errors.hpp"

namespace paragrad::core {

/// "'options.toml', line 3: a value is missing"
class TomlError : public ConfigError {
 public:
  TomlError(const std::string& file, int line, const std::string& reason);

  int line;
  std::string reason;
};

/// file: as messages name it, "platform file 'x.toml'". Throws TomlError for what is not TOML, and for what nests too
/// deeply.
toml::table parse_toml(const std::string& file, std::string_view text);

/// Line of the first place where a text nests deeper than any file of ours: more than 32 brackets within each other, or as
/// many parts of a dotted key. 0 if there is none. The parser and the destructor of its tables call themselves for each
/// level, and would use up the stack.
int line_nested_too_deeply(std::string_view text);

}  // namespace paragrad::core
