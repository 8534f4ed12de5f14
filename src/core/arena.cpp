#include "core/arena.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"

namespace paragrad::core {
namespace {

constexpr std::size_t cache_line = 64, huge_page = std::size_t{2} << 20;

/// Large arrays are aligned to huge pages and request them, which saves TLB misses: without, ResNet-20 took 1.2 to 1.5 times
/// as long to train on a machine whose transparent huge pages are set to `madvise`.
void* allocate(std::size_t bytes) {
  const bool is_large = bytes >= 4 * huge_page;
  const std::size_t alignment = is_large ? huge_page : cache_line;
  void* const data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
#if defined(MADV_HUGEPAGE)
  if (is_large && data != nullptr) ::madvise(data, bytes, MADV_HUGEPAGE);  // if refused, it is only slower
#endif
  return data;
}

}  // namespace

Arena host_arena(std::size_t count) {
  constexpr double worth_asking_bytes = 64e6;  // asking costs about 50 us, clearing 64 MB 10 ms
  const double wanted_bytes = static_cast<double>(count) * sizeof(float);
  if (wanted_bytes >= worth_asking_bytes) require_memory(wanted_bytes, format("an array of {} numbers", count));
  if (count > (std::numeric_limits<std::size_t>::max() - huge_page) / sizeof(float)) throw ConfigError(out_of_memory());
  const std::size_t bytes = count * sizeof(float);
  if (bytes == 0) return {};
  auto* data = static_cast<float*>(allocate(bytes));
  if (data == nullptr) throw ConfigError(format("cannot allocate an array of {} bytes: {}", bytes, out_of_memory()));
  std::memset(data, 0, bytes);
  return {data, count, release_host_memory};
}

void release_host_memory(float* data, std::size_t) { std::free(data); }

}  // namespace paragrad::core
