#include "core/arena.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"

namespace paragrad::core {

Arena host_arena(std::size_t count) {
  constexpr std::size_t alignment = 64;
  constexpr double worth_asking_bytes = 64e6;  // asking costs about 50 us, clearing 64 MB 10 ms
  const double wanted_bytes = static_cast<double>(count) * sizeof(float);
  if (wanted_bytes >= worth_asking_bytes) require_memory(wanted_bytes, format("an array of {} numbers", count));
  if (count > (std::numeric_limits<std::size_t>::max() - alignment) / sizeof(float)) throw ConfigError(out_of_memory());
  const std::size_t bytes = (count * sizeof(float) + alignment - 1) / alignment * alignment;
  if (bytes == 0) return {};
  auto* data = static_cast<float*>(std::aligned_alloc(alignment, bytes));
  if (data == nullptr) throw ConfigError(format("cannot allocate an array of {} bytes: {}", bytes, out_of_memory()));
  std::memset(data, 0, bytes);
  return {data, count, release_host_memory};
}

void release_host_memory(float* data, std::size_t) { std::free(data); }

}  // namespace paragrad::core
