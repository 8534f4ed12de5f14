#pragma once

#include <span>
#include <string_view>

namespace paragrad::system {

/// Describes the problem with the file mapped at `address` after a read there raised SIGBUS: the file was truncated, or its
/// disk failed. Writes one sentence with a line feed to `text`, truncated if `text` is too short.
///
/// Empty if no file is mapped there read-only and shared, as by FileMap: the fault then has another cause. Mappings are
/// read from /proc/self/maps, so no list of files is kept; without /proc the result is empty.
///
/// Async-signal-safe; needs 6 kB of stack.
std::string_view describe_mapping_fault(const void* address, std::span<char> text);

}  // namespace paragrad::system
