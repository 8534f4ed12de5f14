#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace paragrad::core {

/// Half-open range of elements [begin, end) of a flat arena.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool operator==(const Range&) const = default;

  template <class T>
  std::span<T> of(std::span<T> all) const {
    return all.subspan(begin, size());
  }
};

/// Part `index` of [0, length) cut into `parts` contiguous parts whose sizes differ by at most one.
inline Range part_of(std::size_t length, std::size_t parts, std::size_t index) {
  const auto cut = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned __int128>(length) * i / parts);
  };
  return {cut(index), cut(index + 1)};
}

}  // namespace paragrad::core
