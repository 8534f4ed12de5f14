#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace paragrad::speech {

static_assert(std::endian::native == std::endian::little, "files of Kaldi and RIFF hold little-endian numbers");

/// The number at offset `at` of a file's `bytes`; it must lie within them.
template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace paragrad::speech
