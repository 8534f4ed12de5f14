#include "core/arena.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace paragrad::core {

Arena host_arena(std::size_t count) {
  constexpr std::size_t alignment = 64;
  if (count > (std::numeric_limits<std::size_t>::max() - alignment) / sizeof(float)) throw std::bad_alloc();
  const std::size_t bytes = (count * sizeof(float) + alignment - 1) / alignment * alignment;
  if (bytes == 0) return {};
  auto* data = static_cast<float*>(std::aligned_alloc(alignment, bytes));
  if (data == nullptr) throw std::bad_alloc();
  std::memset(data, 0, bytes);
  return {data, count, release_host_memory};
}

void release_host_memory(float* data, std::size_t) { std::free(data); }

}  // namespace paragrad::core
