#include "backend/quantiser.hpp"

#include <bit>
#include <stdexcept>

namespace paragrad::backend {

static_assert(std::endian::native == std::endian::little, "packed matrices are written as the machine lays out its words");

std::size_t bits_of(Code code) {
  switch (code) {
    case Code::bits1:
      return 1;
    case Code::bits2:
      return 2;
    case Code::bits4:
      return 4;
    case Code::bits8:
      return 8;
    case Code::bits16:
    case Code::fp16:
    case Code::bf16:
      return 16;
  }
  throw std::logic_error("no code has this number");
}

std::size_t header_bytes(Code code) { return code == Code::fp16 || code == Code::bf16 ? 0 : 4; }

std::size_t Quantiser::packed_bytes(std::size_t rows, std::size_t columns) const {
  return columns * header_bytes(code) + 4 * ((rows * columns * bits_of(code) + 31) / 32);
}

}  // namespace paragrad::backend
