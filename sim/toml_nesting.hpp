#pragma once

#include <string_view>

namespace paragrad::sim {

/// Line of the first place where a TOML text nests deeper than a platform file may: more than 32 brackets within each other,
/// or as many parts of a dotted key. 0 if there is none. The parser and the destructor of its tables call themselves for
/// each level, and would use up the stack.
int line_nested_too_deeply(std::string_view text);

}  // namespace paragrad::sim
