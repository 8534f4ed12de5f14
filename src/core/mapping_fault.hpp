#pragma once

#include <span>
#include <string_view>

namespace paragrad::core {

/// What is wrong with the file that is mapped at `address`, after a read there ended in SIGBUS: the file was cut short, or
/// its disk failed. One sentence with a line feed, in `text`, cut off where that is too short.
///
/// Empty where no file is mapped read-only and shared, as FileMap does it: then the fault is not one of a file's readers.
/// What is mapped is read from /proc/self/maps, so no list of files has to be kept; without /proc the result is empty.
///
/// Calls only what a signal handler may call, and needs 6 kB of stack.
std::string_view describe_mapping_fault(const void* address, std::span<char> text);

}  // namespace paragrad::core
