#include "backend/cpu/memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace paragrad::backend::cpu {

core::Arena allocate(std::size_t count) {
  constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
  if (count * sizeof(float) < huge_page_bytes) return core::host_arena(count);
  const std::size_t bytes = (count * sizeof(float) + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  auto* data = static_cast<float*>(std::aligned_alloc(huge_page_bytes, bytes));
  if (data == nullptr) throw std::bad_alloc();
  madvise(data, bytes, MADV_HUGEPAGE);  // a wish: refused, the pages are small and all else is the same
  std::memset(data, 0, bytes);
  return {data, count, [](float* memory, std::size_t) { std::free(memory); }};
}

}  // namespace paragrad::backend::cpu
