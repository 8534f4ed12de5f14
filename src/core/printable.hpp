#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace paragrad::core {

/// Appends a character; U+FFFD for a code that is none.
void append_utf8(std::string& text, std::uint32_t code);

bool is_utf8(std::string_view text);

/// Of UTF-8.
std::size_t characters_in(std::string_view text);

/// Makes external text (a name in a file, an argument) safe for a terminal or a message: control characters, bytes that are
/// not UTF-8 and characters that change the text direction become C escape sequences.
std::string printable(std::string_view text);

/// The same for a whole message; words of more than 300 bytes are shortened in the middle.
std::string printable_message(std::string_view text);

}  // namespace paragrad::core
