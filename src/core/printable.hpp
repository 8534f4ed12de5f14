#pragma once

#include <string>
#include <string_view>

namespace paragrad::core {

/// Text from outside (a name in a file, an argument) for a terminal or a message: control characters, bytes that are not
/// UTF-8 and characters that change the direction of writing become escape sequences as in C.
std::string printable(std::string_view text);

/// The same for a whole message, in which words of more than 300 bytes lose their middle.
std::string printable_message(std::string_view text);

}  // namespace paragrad::core
