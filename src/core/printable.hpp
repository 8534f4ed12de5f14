#pragma once

#include <string>
#include <string_view>

namespace paragrad::core {

/// For a terminal or a message: what came from outside, a name in a file or what was typed, with its control characters as
/// \n, \t or \x1b, and so with bytes that are not UTF-8 and with characters that turn the direction of writing.
std::string printable(std::string_view text);

/// The same of a whole message, in which words of more than 300 bytes lose their middle.
std::string printable_message(std::string_view text);

}  // namespace paragrad::core
