#include "backend/quantiser.hpp"

#include <bit>

namespace paragrad::backend {

static_assert(std::endian::native == std::endian::little, "packed matrices are written as the machine lays out its words");

std::size_t Quantiser::packed_bytes(std::size_t rows, std::size_t columns) const {
  return columns * header_bytes(code) + 4 * ((rows * columns * bits_of(code) + 31) / 32);
}

}  // namespace paragrad::backend
